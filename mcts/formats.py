"""TOML and JSON of others: whatever is wrong with the text, one kind of error says so in a line.

The parsers of the standard library end in several errors for text that is nested too deeply or
holds a number that is too long, and `tomllib` needs quadratic time for keys of many parts.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tomllib
from typing import Any

MOST_KEY_PARTS = 32
"""Parts of a dotted key; ours have four at most. `tomllib` takes minutes for 50,000 of them."""
MOST_DIGITS = 300
"""Digits of a whole number in TOML: from 309 on it is no float, from 4,301 on, which hexadecimal
ones may have, Python does not print it. JSON has Python's own limit."""
_TOML = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?'
    r"|'{3}(?:[^']|'(?!''))*(?:'{3})?"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*|[.=,{}\[\]\n]",
    re.DOTALL,
)


SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged database ends in: the message of SQLite's error may be damaged as well."""


class FormatError(ValueError):
    """Text that is not what it should be; its message is one line."""


def parse_toml(text: str) -> dict[str, Any]:
    """The document. FormatError if it is not TOML, or is past what anybody would write."""
    _check_keys(text)
    try:
        table = tomllib.loads(text)
        _check_numbers(table)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(str(error)) from None
    except RecursionError:
        raise FormatError("it is nested too deeply") from None
    except ValueError as error:
        raise FormatError(_said(error)) from None
    return table


def parse_json(text: str | bytes) -> Any:
    """The value. FormatError if it is not JSON, or is past what anybody would write."""
    try:
        return json.loads(text)
    except RecursionError:
        raise FormatError("it is nested too deeply") from None
    except ValueError as error:  # no JSON, no UTF-8, or a number of more than 4,300 digits
        raise FormatError(_said(error)) from None


def _said(error: ValueError) -> str:
    if "integer string conversion" not in str(error):
        return str(error)
    return f"a number has more than {sys.get_int_max_str_digits()} digits"


def _check_keys(text: str) -> None:
    """Raise FormatError for a key of too many parts; strings and comments do not count."""
    dots = 0
    for found in _TOML.finditer(text):
        sign = text[found.start()]
        if sign == ".":
            dots += 1
            if dots >= MOST_KEY_PARTS:
                line = text.count("\n", 0, found.start()) + 1
                raise FormatError(f"a key has more than {MOST_KEY_PARTS} parts (at line {line})")
        elif sign in "=,{}[]\n":
            dots = 0


def _check_numbers(value: object) -> None:
    """Raise ValueError for a whole number of too many digits, wherever it stands."""
    longest = 10**MOST_DIGITS
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, int) and abs(one) >= longest:
            raise ValueError(f"a number has more than {MOST_DIGITS} digits")
