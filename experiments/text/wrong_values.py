"""What is wrong with a value, in Rooftree's words: pydantic says it in those of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_WORDS = {
    "missing": "it is missing",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda limit: f"at least {_plain(limit['ge'])}",
    "greater_than": lambda limit: f"more than {_plain(limit['gt'])}",
    "less_than_equal": lambda limit: f"at most {_plain(limit['le'])}",
    "less_than": lambda limit: f"less than {_plain(limit['lt'])}",
    "too_short": lambda limit: f"at least {limit['min_length']}",
    "too_long": lambda limit: f"at most {limit['max_length']}",
    "literal_error": lambda limit: re.sub(r"(?<!\\)'", "", str(limit["expected"])),
}


def what_is_wanted(problem: Mapping[str, Any]) -> str:
    """One of the problems of a ValidationError, as its `errors()` lists them: what the value has
    to be, as in ``at least 1``; what a validator of ours said, as it said it.
    """
    kind = str(problem["type"])
    if kind in _BOUNDS:
        return _BOUNDS[kind](problem["ctx"])
    return _WORDS.get(kind) or str(problem["msg"]).removeprefix("Value error, ")


def _plain(bound: int | float) -> str:
    return str(int(bound)) if float(bound).is_integer() else str(bound)


def any_of(wanted: Iterable[str]) -> str:
    """What a value may be one of: ``a whole number or random``, each once."""
    words = list(dict.fromkeys(wanted))
    if "a number" in words:  # which a whole number is
        words = [word for word in words if word != "a whole number"]
    return " or ".join(words)
