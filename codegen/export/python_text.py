"""Expressions of a plan as Python that needs two helpers, `_exact` and `_ceil_div`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.export.expressions import Written, folded, is_truth, kind_of
from mcts.domain import Scalar

HELPERS = '''\
def _exact(left, right):
    """left / right, where whole numbers stay exact."""
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return Fraction(left, right)


def _ceil_div(left, right):
    return -(-left // right)


def _whole(value):
    """A size or a count. ValueError where the shape leaves a fraction of one."""
    if value != int(value):
        raise ValueError(f"{value} is not a whole number: the kernel does not fit this shape")
    return int(value)

'''
RESERVED = frozenset({"_exact", "_ceil_div", "_whole", "min", "max", "bool", "Fraction", "ctypes"})


_WORDS: dict[type[ast.boolop], str] = {ast.And: "and", ast.Or: "or"}


class PythonText:
    """Writes expressions; `names` says what the shape variables are called there."""

    def __init__(self, tunables: Mapping[str, Scalar], names: Mapping[str, str]) -> None:
        self._tunables, self._names = tunables, names

    def number(self, expression: Written) -> str:
        """A whole number."""
        tree = folded(expression, self._tunables)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool | int):
            return str(int(tree.value))
        text = self._text(tree)
        if kind_of(tree) == "float" or _divides(tree):
            return f"_whole({text})"
        return f"int({text})" if is_truth(tree) else text

    def real(self, expression: Written) -> str:
        """A float."""
        return f"float({self._text(folded(expression, self._tunables))})"

    def condition(self, expression: Written) -> str:
        """Something to ask `if` of."""
        tree = folded(expression, self._tunables)
        if isinstance(tree, ast.BoolOp):
            return f" {_WORDS[type(tree.op)]} ".join(
                f"({self._text(item)})" for item in tree.values
            )
        return self._text(tree)

    def _text(self, tree: ast.expr) -> str:
        return ast.unparse(ast.fix_missing_locations(_Rewritten(self._names).visit(tree)))


class _Rewritten(ast.NodeTransformer):
    """The grammar's own meanings as Python's: exact division, powers of two, truth of and/or."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Div():
                return _call("_exact", left, right)
            case ast.LShift():
                return ast.BinOp(left, ast.Mult(), ast.BinOp(ast.Constant(2), ast.Pow(), right))
            case ast.RShift():
                return ast.BinOp(left, ast.FloorDiv(), ast.BinOp(ast.Constant(2), ast.Pow(), right))
            case _:
                return ast.BinOp(left, node.op, right)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return _call("bool", ast.BoolOp(node.op, [self.visit(value) for value in node.values]))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        name = "_ceil_div" if node.func.id == "ceil_div" else node.func.id
        return _call(name, *(self.visit(item) for item in node.args))


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _divides(tree: ast.expr) -> bool:
    return any(isinstance(node, ast.Div) for node in ast.walk(tree))
