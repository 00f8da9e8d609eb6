"""A plan's expressions with the tunables put in, ready to be written in another language."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Literal

from mcts.domain import Scalar, evaluate
from mcts.domain.expressions import names_in
from mcts.domain.python_source import parse_expression
from mcts.errors import InputError

Kind = Literal["int", "float"]
Written = str | int | float
"""An expression as plans hold it: its text, or a plain number."""


def folded(expression: Written, tunables: Mapping[str, Scalar]) -> ast.expr:
    """The expression's tree with every part that names no shape variable replaced by its value.

    What is left are whole shape variables, numbers and operations of the grammar of
    `mcts.domain.expressions`. Raises InputError for what that grammar does not allow.
    """
    if not isinstance(expression, str):
        return ast.Constant(expression)
    try:
        tree = parse_expression(expression.strip())
    except (SyntaxError, ValueError) as error:
        raise InputError(f"cannot read the expression {expression!r}: {error}") from None
    return _fold(tree, tunables)


def kind_of(node: ast.expr) -> Kind:
    """Whether a folded expression is a whole number or a float, as evaluating it would tell.

    A `/` of whole numbers counts as whole: evaluating refuses it wherever it is not.
    """
    match node:
        case ast.Constant(value=float()):
            return "float"
        case ast.Constant(value=str()):
            raise InputError(f"text stands where a number should: {ast.unparse(node)}")
        case ast.BinOp(left=left, right=right):
            return _widest([left, right])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return kind_of(operand)
        case ast.IfExp(body=body, orelse=orelse):
            return _widest([body, orelse])
        case ast.Call(args=args):
            return _widest(args)
        case _:
            return "int"


def _widest(nodes: Sequence[ast.expr]) -> Kind:
    return "float" if any(kind_of(node) == "float" for node in nodes) else "int"


def _fold(node: ast.expr, tunables: Mapping[str, Scalar]) -> ast.expr:
    if isinstance(node, ast.Name) and node.id not in tunables and node.id not in ("true", "false"):
        return node
    if (value := _value(node, tunables)) is not None:
        return ast.Constant(value)
    match node:
        case ast.BoolOp(op=op, values=values):
            return _fold_bool(op, [_fold(value, tunables) for value in values])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            test = _fold(test, tunables)
            if isinstance(test, ast.Constant):
                return _fold(body if test.value else orelse, tunables)
            return ast.IfExp(test, _fold(body, tunables), _fold(orelse, tunables))
        case ast.BinOp(left=left, op=op, right=right):
            return ast.BinOp(_fold(left, tunables), op, _fold(right, tunables))
        case ast.UnaryOp(op=ast.USub() | ast.Not() as op, operand=operand):
            return ast.UnaryOp(op, _fold(operand, tunables))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return ast.Compare(
                _fold(left, tunables), ops, [_fold(item, tunables) for item in comparators]
            )
        case ast.Call(func=func, args=args):
            return ast.Call(func, [_fold(item, tunables) for item in args], [])
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return ast.List([_fold(item, tunables) for item in elements], ast.Load())
        case ast.Constant():
            return node
        case _:
            raise InputError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _value(node: ast.expr, tunables: Mapping[str, Scalar]) -> Scalar | None:
    """The value of an expression; None if it has shape variables, or cannot be told."""
    if isinstance(node, ast.List | ast.Tuple):
        return None
    text = ast.unparse(node)
    if names_in(text) - (tunables.keys() | {"true", "false"}):
        return None
    try:
        return evaluate(text, tunables)
    except InputError:
        return None


def _fold_bool(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    """`and` and `or` without the operands that decide nothing."""
    decides = isinstance(op, ast.Or)
    open_values: list[ast.expr] = []
    for value in values:
        if not isinstance(value, ast.Constant):
            open_values.append(value)
        elif bool(value.value) == decides:
            return ast.Constant(decides)
    if not open_values:
        return ast.Constant(not decides)
    alone = len(open_values) == 1 and is_truth(open_values[0])
    return open_values[0] if alone else ast.BoolOp(op, open_values)


def is_truth(node: ast.expr) -> bool:
    """Whether an expression is true or false by its form, rather than a number taken as such."""
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
