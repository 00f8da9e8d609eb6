"""Shape variables out of the sizes of input tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcts.domain import Buffer
from mcts.domain.expressions import names_in
from mcts.domain.python_source import parse_expression


@dataclass(frozen=True, slots=True)
class Solved:
    """How to find each shape variable, in an order in which that can be done.

    found: variable and Python text over ``inputs[i][axis]`` and variables found before.
    given: variables that no input's size determines, which somebody has to say.
    """

    found: tuple[tuple[str, str], ...]
    given: tuple[str, ...]


def solve(inputs: Sequence[Buffer], variables: Sequence[str], names: Mapping[str, str]) -> Solved:
    """Go through the inputs' axes until no further variable is determined.

    An axis determines a variable where that stands in it once, under sums, differences and products
    with what is known. `names` says what the variables are called in the text.
    """
    axes = [
        (f"inputs[{number}][{axis}]", expression)
        for number, buffer in enumerate(inputs)
        for axis, expression in enumerate(buffer.shape)
        if isinstance(expression, str)
    ]
    found: dict[str, str] = {}
    progress = True
    while progress:
        progress = False
        for size, expression in axes:
            unknown = names_in(expression) - found.keys()
            if len(unknown) != 1:
                continue
            variable = next(iter(unknown))
            text = _inverted(parse_expression(expression.strip()), variable, size, names)
            if text is not None:
                found[variable] = text
                progress = True
    return Solved(tuple(found.items()), tuple(name for name in variables if name not in found))


def _inverted(tree: ast.expr, variable: str, size: str, names: Mapping[str, str]) -> str | None:
    """`variable` if the expression has the value `size`; None if it is not determined."""
    if isinstance(tree, ast.Name):
        return size
    if not isinstance(tree, ast.BinOp):
        return None
    left, right = _uses(tree.left, variable), _uses(tree.right, variable)
    if left and right:
        return None
    inner, other = (tree.left, tree.right) if left else (tree.right, tree.left)
    known = ast.unparse(_Renamed(names).visit(other))
    match tree.op:
        case ast.Add():
            size = f"({size} - ({known}))"
        case ast.Sub():
            size = f"({size} + ({known}))" if left else f"(({known}) - {size})"
        case ast.Mult():
            size = f"({size} // ({known}))"
        case _:
            return None
    return _inverted(inner, variable, _tidy(size), names)


def _uses(tree: ast.expr, variable: str) -> bool:
    return variable in names_in(ast.unparse(tree))


def _tidy(text: str) -> str:
    """Without parentheses that mean nothing."""
    return f"({ast.unparse(parse_expression(text))})"


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), ast.Load())
