"""What is wrong with a value, in Rooftree's words: pydantic says it in those of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

_MOST_SHOWN = 40
"""The longest text that is repeated, in characters."""
_TYPES_TRIED = frozenset({"bool", "int", "float", "str"})
"""What pydantic adds to the place of a value that may be of several types."""
_VAGUE = frozenset({"too_short", "string_type", "int_type", "float_type"})
"""What need not be said of a value when something within it is wrong."""
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
    "path_type": "a path",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "extra_forbidden": "there is no such field",
}
_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda limit: f"at least {_plain(limit['ge'])}",
    "greater_than": lambda limit: f"more than {_plain(limit['gt'])}",
    "less_than_equal": lambda limit: f"at most {_plain(limit['le'])}",
    "less_than": lambda limit: f"less than {_plain(limit['lt'])}",
    "too_short": lambda limit: f"at least {limit['min_length']}",
    "too_long": lambda limit: f"at most {limit['max_length']}",
    "string_too_short": lambda limit: f"at least {limit['min_length']} long",
    "string_pattern_mismatch": lambda limit: f"a text of the form {limit['pattern']}",
    "literal_error": lambda limit: re.sub(r"(?<!\\)'", "", str(limit["expected"])),
}


def first_problem(
    error: ValidationError,
    model: type[BaseModel] | None = None,
    *,
    table: Any = None,
    most: int = 3,
) -> str:
    """The first problems of a pydantic error as one line, ``seed = "a": a whole number``.

    `model` is what the values were read as; with it, an unknown field is answered with one that is
    spelled alike. With the `table` that was read, its tables are called by their names: ``buffer x:
    role``.
    """
    found: dict[tuple[int | str, ...], list[Mapping[str, Any]]] = {}
    names = _names_of(model)
    for problem in error.errors():
        place = tuple(part for part in problem["loc"] if part not in names)
        if place and place[-1] in _TYPES_TRIED and problem["type"] != "extra_forbidden":
            place = place[:-1]
        found.setdefault(place, []).append(problem)
    # What a misspelled field stands for is missing, too: one mistake is one problem.
    meant = {
        (*place[:-1], _meant(place, model))
        for place, problems in found.items()
        if problems[0]["type"] == "extra_forbidden"
    }
    lines = [
        _line(place, problems, model, table)
        for place, problems in found.items()
        if not (problems[0]["type"] == "missing" and place in meant)
        and not (problems[0]["type"] in _VAGUE and _has_wrong_parts(place, found))
    ]
    more = f" (and {len(lines) - most} more)" if len(lines) > most else ""
    return "; ".join(lines[:most]) + more


def _line(
    place: tuple[int | str, ...],
    problems: list[Mapping[str, Any]],
    model: type[BaseModel] | None,
    table: Any,
) -> str:
    """What is wrong at one place."""
    first = problems[0]
    kind, given = first["type"], first["input"]
    wanted = any_of(map(what_is_wanted, problems))
    named = _place_in_words(place, table)
    if not place and kind == "value_error":
        return wanted
    if kind == "extra_forbidden":
        close = _meant(place, model)
        return f"{named}: {wanted}" + (f"; did you mean {close}?" if close else "")
    if kind in ("missing", "value_error") or not isinstance(given, str | bool | int | float):
        return f"{named}: {wanted}"
    shown = json.dumps(given, ensure_ascii=False)
    return f"{named} = {shown}: {wanted}" if len(shown) <= _MOST_SHOWN else f"{named}: {wanted}"


def _has_wrong_parts(place: tuple[int | str, ...], found: Iterable[tuple[int | str, ...]]) -> bool:
    """Whether something within is wrong: a list that lacks it is not too short for that."""
    return any(len(other) > len(place) and other[: len(place)] == place for other in found)


def _meant(place: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    """The field that an unknown one is spelled like; empty if none is."""
    close = get_close_matches(str(place[-1]), _fields_at(model, place[:-1]), n=1)
    return close[0] if close else ""


def _place_in_words(place: tuple[int | str, ...], table: Any) -> str:
    """``buffer x: role``, ``launch 2: grid.0``; tables of a list go by name, else by number."""
    words, within = "", table
    for part in place:
        within = _inside(within, part)
        if isinstance(part, int) and isinstance(within, Mapping):
            name = within.get("name") or within.get("kernel")
            words = f"{words.removesuffix('.')} {name if isinstance(name, str) else part + 1}: "
        else:
            words += f"{part}."
    return words.removesuffix(".").removesuffix(": ") or "top level"


def _inside(table: Any, part: int | str) -> Any:
    try:
        return table[part]
    except (KeyError, IndexError, TypeError):
        return None


def _fields_at(model: type[BaseModel] | None, place: tuple[int | str, ...]) -> tuple[str, ...]:
    """The fields of what may stand at `place` in `model`; none if that cannot be said."""
    models = [] if model is None else [model]
    by_key = False
    for part in place:
        if by_key or isinstance(part, int):  # the place in a table or a list of models
            by_key = False
            continue
        fields = [each.model_fields[part] for each in models if part in each.model_fields]
        by_key = any(get_origin(field.annotation) is dict for field in fields)
        models = [inner for field in fields for inner in _models_in(field.annotation)]
    return tuple(name for each in models for name in each.model_fields)


def _names_of(model: type[BaseModel] | None) -> frozenset[str]:
    """The names of the models within `model`, and tags: pydantic puts them into the place of a
    value that may be of several types.
    """
    found: set[type[BaseModel]] = set()
    tags: set[str] = set()
    todo = [] if model is None else [model]
    while todo:
        for field in todo.pop().model_fields.values():
            new = set(_models_in(field.annotation)) - found
            found |= new
            todo += new
            tags |= set(_tags_in(field.annotation))
    return frozenset(each.__name__ for each in found) | tags


def _tags_in(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, Tag):
        yield annotation.tag
    for argument in get_args(annotation):
        yield from _tags_in(argument)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


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
