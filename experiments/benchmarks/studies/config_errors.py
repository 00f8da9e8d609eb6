"""What is wrong in a study's file: which key, what it has to be, and which keys there are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from experiments.text.words import did_you_mean
from mcts.wrong_values import any_of, what_is_wanted

_MOST = 3


def describe_errors(
    error: ValidationError,
    table: Mapping[str, Any],
    *,
    keys: Collection[str],
    arm_keys: Collection[str],
) -> str:
    """The first problems of a file as one line: ``seeds = -1: at least 1``.

    `table` is what the file holds, `keys` are those it may have at its top and `arm_keys` those of
    an arm.
    """
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for problem in error.errors():
        found.setdefault(_place(problem["loc"], table), []).append(problem)
    lines, known = [], dict[str, str]()
    for place, problems in found.items():
        if problems[0]["type"] == "extra_forbidden":
            fitting = keys if len(place) == 1 else arm_keys
            lines.append(_unknown(place, fitting, top=keys))
            whose = "a study" if len(place) == 1 else "an arm"
            known[whose] = f"; {whose} has the keys {', '.join(fitting)}"
        else:
            lines.append(_wrong(place, problems))
    more = f" (and {len(lines) - _MOST} more)" if len(lines) > _MOST else ""
    return "; ".join(lines[:_MOST]) + more + "".join(known.values())


def _place(loc: tuple[int | str, ...], table: Any) -> tuple[str, ...]:
    """The part of pydantic's path that leads through the file: behind it stands which of several
    types was tried. A key that is missing ends it.
    """
    place: list[str] = []
    for part in loc:
        if isinstance(table, Mapping):
            place.append(str(part))
            table = table.get(str(part))
        elif isinstance(table, list) and isinstance(part, int):
            place.append(str(part + 1))
            table = table[part]
        else:
            break
    return tuple(place)


def _unknown(place: tuple[str, ...], known: Collection[str], *, top: Collection[str]) -> str:
    *_, key = place
    if meant := did_you_mean(key, known):
        hint = f" ({meant})"
    elif key in top:
        hint = f" ({key} belongs above the first [arms...])"
    else:
        hint = ""
    return f"there is no key {'.'.join(place)}{hint}"


def _wrong(place: tuple[str, ...], problems: list[Mapping[str, Any]]) -> str:
    wanted = any_of(what_is_wanted(problem) for problem in problems)
    if not place:
        return wanted
    given = problems[0]["input"]
    plain = isinstance(given, str | bool | int | float) and problems[0]["type"] != "missing"
    shown = f" = {json.dumps(given, ensure_ascii=False)}" if plain else ""
    return f"{'.'.join(place)}{shown}: {wanted}"
