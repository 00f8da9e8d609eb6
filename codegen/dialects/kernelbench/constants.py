"""Tunables of a Python candidate: marked constants at the top of its file.

    BLOCK = 256  # tunable: 128, 256, 512

Their values stand in the file itself, so that it runs anywhere as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from pydantic import ValidationError

from mcts.domain import Scalar, Tunable, TunableSpace, first_problem
from mcts.domain.python_source import parse_expression
from mcts.errors import InputError

_MARKED = re.compile(
    r"^(?P<head>(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*+)(?P<value>[^#\n]*+)"
    r"(?P<mark>#[ \t]*+tunable:(?P<choices>[^\n]*))$",
    re.MULTILINE,
)


def declared_constants(source: str) -> TunableSpace:
    """The marked constants of a file as a space. InputError where a mark cannot be read."""
    tunables: dict[str, Tunable] = {}
    for found in _MARKED.finditer(source):
        name, line = found["name"], source.count("\n", 0, found.start()) + 1
        values = _literals(found["choices"], f"line {line}: the values of tunable {name}")
        default = _literals(found["value"], f"line {line}: the value of tunable {name}")
        if len(default) != 1:
            raise InputError(f"line {line}: tunable {name} needs a single value")
        if name in tunables:
            raise InputError(f"line {line}: tunable {name} is declared twice")
        try:
            tunables[name] = Tunable(values=tuple(values), default=default[0])
        except ValidationError as error:
            raise InputError(f"line {line}: tunable {name}: {first_problem(error)}") from None
    return TunableSpace(tunables=tunables)


def with_constants(source: str, values: Mapping[str, Scalar]) -> str:
    """The file with other values of its marked constants."""

    def changed(found: re.Match[str]) -> str:
        if found["name"] not in values:
            return found[0]
        value = found["value"]
        blanks = value[len(value.rstrip(" \t")) :]
        return f"{found['head']}{values[found['name']]!r}{blanks}{found['mark']}"

    return _MARKED.sub(changed, source)


def _literals(text: str, what: str) -> list[Scalar]:
    wrong = InputError(f"{what} must be numbers or strings, not {text.strip()[:60]!r}")
    try:
        found = ast.literal_eval(parse_expression(f"[{text.strip()}]"))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise wrong from None
    if not all(isinstance(value, int | float | str | bool) for value in found):
        raise wrong
    return list(found)
