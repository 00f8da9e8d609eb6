"""How alike two problems are: by the syntax of their models, and by what these call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from mcts.domain.python_source import parse_module

ALIKE = 0.9
"""From here on two problems count as the same (CUDA Agent, section 3.1)."""
_NO_WORK = frozenset(
    {"super", "__init__", "size", "view", "reshape", "contiguous", "float", "len", "range"}
    | {"transpose", "permute", "flatten", "squeeze", "unsqueeze"}
)
"""What a model calls that computes nothing of its output."""
_SAME = {
    "matmul": "linear", "mm": "linear", "bmm": "linear", "swish": "silu", "globalavgpool": "mean",
    "mult": "scale", "add": "shift", "div": "scale", "sub": "shift", "amax": "max", "pow": "square",
    "hardtanh": "clamp",
}  # fmt: skip
"""Names of one operator, and operations that differ in a constant alone."""
_GATES = {("sigmoid",): "silu", ("tanh", "softplus"): "mish"}
"""What an operand times these functions of itself is."""


def shape_of(source: str) -> tuple[str, ...]:
    """The syntax of a problem's classes, in order: kinds of nodes, and the names of what they call;
    numbers, docstrings, annotations and names of variables do not count.

    Empty for a text that is no Python or has no class.
    """
    return tuple(name for node in _classes(source) for name in _walk(node))


def likeness(one: Sequence[str], other: Sequence[str], *, least: float = 0.0) -> float:
    """Share of what two syntaxes have in common, from 0 to 1 (Ratcliff and Obershelp's); 0 if it is
    below `least`, which is found out sooner.
    """
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= least else 0.0


def operators_of(source: str) -> tuple[str, ...]:
    """What a problem's ``forward`` computes, in order, in whatever way it is written: `nn.ReLU`,
    `F.relu` and `torch.relu` are one operator, a class of layers is what ``__init__`` makes of it.

    Empty for a text without a ``forward``.
    """
    for node in _classes(source):
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        if "forward" in methods:
            layers = _layers(methods["__init__"]) if "__init__" in methods else {}
            called = [found for line in methods["forward"].body for found in _called(line, layers)]
            return tuple(name for name in called if name and name not in _NO_WORK)
    return ()


def _classes(source: str) -> list[ast.ClassDef]:
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError):
        return []
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _layers(init: ast.FunctionDef) -> dict[str, str]:
    """The operator of each attribute that is made by a call."""
    found = {}
    for node in ast.walk(init):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found[target.attr] = _canonical(_name(node.value.func))
    return found


def _called(node: ast.AST, layers: dict[str, str]) -> Iterator[str]:
    """The operators below a node, those of its operands first."""
    if (gated := _gated(node, layers)) is not None:
        operand, name = gated
        yield from _called(operand, layers)
        yield name
        return
    for child in ast.iter_child_nodes(node):
        yield from _called(child, layers)
    if isinstance(node, ast.Call):
        name = _name(node.func)
        yield layers.get(name) or _canonical(name)
    elif isinstance(node, ast.BinOp):
        yield _canonical(type(node.op).__name__)


def _gated(node: ast.AST, layers: dict[str, str]) -> tuple[ast.expr, str] | None:
    """The operand of ``x * sigmoid(x)`` and its like, and the operator's name."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for operand, gate in ((node.left, node.right), (node.right, node.left)):
        for functions, name in _GATES.items():
            inner: ast.expr | None = gate
            for function in functions:
                inner = _argument(inner, function, layers)
            if inner is not None and ast.dump(inner) == ast.dump(operand):
                return operand, name
    return None


def _argument(node: ast.expr | None, function: str, layers: dict[str, str]) -> ast.expr | None:
    """What a call of `function` is given: ``torch.tanh(x)``, ``x.tanh()`` or ``self.act(x)``."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    name = _name(node.func)
    if (layers.get(name) or _canonical(name)) != function:
        return None
    if len(node.args) == 1:
        return node.args[0]
    if node.args or not isinstance(node.func, ast.Attribute):
        return None
    return node.func.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _canonical(name: str) -> str:
    """Without case, underscores and dimensions: ``LayerNorm`` and ``layer_norm`` are the same."""
    plain = name if name in _NO_WORK else re.sub(r"_|\d+d$", "", name.lower())
    return _SAME.get(plain, plain)


def _walk(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return []  # a docstring
    found = [type(node).__name__]
    if isinstance(node, ast.Attribute):
        found.append(node.attr)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Load | ast.Store | ast.Constant | ast.arguments):
            found += _walk(child)
    return found
