"""Arithmetic over shape variables and tunables, evaluated without `eval`.

Launch plans and tasks carry expressions such as ``ceil_div(rows, BLOCK)``. They come from files
and from language models, so only this small grammar is ever executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from mcts.domain.python_source import parse_expression
from mcts.errors import InputError

Scalar: TypeAlias = int | float | str | bool
_Value: TypeAlias = int | float | str | bool | Fraction

MAX_LENGTH = 500
MAX_MAGNITUDE = 2**63


def _exact_divide(left: _Value, right: _Value) -> _Value:
    if isinstance(left, int) and isinstance(right, int):
        return _whole(Fraction(left, right))
    return left / right  # type: ignore[operator]


def _ceil_div(left: int, right: int) -> int:
    return -(-left // right)


def _power(base: _Value, exponent: _Value) -> _Value:
    if not isinstance(exponent, int) or not 0 <= exponent <= 64:
        raise ValueError("an exponent must be a whole number from 0 to 64")
    return base**exponent  # type: ignore[operator]


def _whole(value: _Value) -> _Value:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


_BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _exact_divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: lambda a, b: _power(2, b) * a,
    ast.RShift: lambda a, b: a // _power(2, b),
}
_COMPARE: dict[type[ast.cmpop], Callable[..., bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil_div": _ceil_div}


_OF_C = {
    "&&": "write `and` for &&",
    "||": "write `or` for ||",
    "?": "write `A if C else B` for C ? A : B",
}
"""What C has and expressions have not."""


@lru_cache(maxsize=4096)
def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_LENGTH:
        raise InputError(f"expression longer than {MAX_LENGTH} characters: {expression[:60]!r}...")
    try:
        return parse_expression(expression.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = next((words for sign, words in _OF_C.items() if sign in expression), str(error))
        raise InputError(f"cannot read the expression {expression!r}: {why}") from None


@lru_cache(maxsize=4096)
def names_in(expression: str | int | float) -> frozenset[str]:
    """Names an expression refers to, functions left out."""
    if not isinstance(expression, str):
        return frozenset()
    tree = _parse(expression)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    )


def evaluate(expression: str | int | float, names: Mapping[str, Scalar]) -> Scalar:
    """Evaluate `expression` with `names`; whole-number division stays exact.

    Raises InputError for an unknown name, an operation outside the grammar, a division by zero or
    a result that is not a whole number if `/` left a fraction.
    """
    value = _evaluated(expression, names)
    if isinstance(value, Fraction):
        raise InputError(f"{expression!r} is {value}, not a whole number; use ceil_div or //")
    return value


def evaluate_float(expression: str | int | float, names: Mapping[str, Scalar]) -> float:
    """Like `evaluate`, but a fraction is as good as any number, and text is none."""
    value = _evaluated(expression, names)
    if isinstance(value, str):
        raise InputError(f"{expression!r} is text, not a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{expression!r} does not fit a float") from None


def _evaluated(expression: str | int | float, names: Mapping[str, Scalar]) -> _Value:
    if not isinstance(expression, str):
        return expression
    try:
        return _whole(_walk(_parse(expression), names))
    except (ZeroDivisionError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"cannot evaluate {expression!r}: {error}") from None


def evaluate_int(expression: str | int | float, names: Mapping[str, Scalar]) -> int:
    """Like `evaluate`, but the result must be a whole number."""
    value = evaluate(expression, names)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int):
        raise InputError(f"{expression!r} is {value!r}, not a whole number")
    return value


def _walk(node: ast.expr, names: Mapping[str, Scalar]) -> _Value:
    match node:
        case ast.Constant(value=bool() | str() as constant):
            return constant
        case ast.Constant(value=int() | float() as constant):
            return _in_range(constant)
        case ast.Name(id=name):
            if name in ("true", "false"):
                return name == "true"
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                raise InputError(f"unknown name {name!r} in an expression; known: {known}")
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            operands = _number(_walk(left, names)), _number(_walk(right, names))
            return _in_range(_BINARY[type(op)](*operands))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_walk(operand, names))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _walk(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_walk(value, names) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_walk(value, names) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _compare(left, ops, comparators, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _walk(body if _walk(test, names) else orelse, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            called: _Value = _FUNCTIONS[name](*(_walk(arg, names) for arg in args))
            return called
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            raise TypeError(f"a list of {len(elements)} stands only on the right of `in`")
        case _:
            raise TypeError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _number(value: _Value) -> int | float | Fraction:
    if isinstance(value, str):
        raise TypeError("text cannot be calculated with")
    return value


def _in_range(value: int | float | Fraction) -> _Value:
    if not abs(float(value)) <= MAX_MAGNITUDE:
        raise ValueError("a value is out of range")
    if isinstance(value, Fraction) and value.denominator > MAX_MAGNITUDE:
        raise ValueError("a fraction is too fine")  # or powers of it take minutes
    return value


def _compare(
    left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr], names: Mapping[str, Scalar]
) -> bool:
    current: object = _walk(left, names)
    for op, comparator in zip(ops, comparators, strict=True):
        if type(op) not in _COMPARE:
            raise TypeError(f"comparison {type(op).__name__} is not allowed")
        following: object
        if isinstance(op, ast.In | ast.NotIn) and isinstance(comparator, ast.List | ast.Tuple):
            following = [_walk(element, names) for element in comparator.elts]
        else:
            following = _walk(comparator, names)
        if not _COMPARE[type(op)](current, following):
            return False
        current = following
    return True
