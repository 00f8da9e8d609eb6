"""Configurations as Rooftree wrote them before options had models: flat, in format 1.

Runs that were begun so are still resumed, and `run.json` shows every configuration in this shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcts.options import OFF, Algorithm
from mcts.options.model import CACHE_FILE

PLACES: Mapping[str, tuple[str, ...]] = {
    "evaluator": ("judging", "evaluator"),
    "proposer": ("search", "proposer"),
    "search": ("search", "algorithm", "name"),
    "model": ("model", "name"),
    "api_base": ("model", "api_base"),
    "evaluations": ("limits", "evaluations"),
    "minutes": ("limits", "minutes"),
    "max_cost_usd": ("limits", "cost_usd"),
    "max_tokens": ("limits", "tokens"),
    "max_gpu_minutes": ("limits", "gpu_minutes"),
    "stop_within": ("limits", "stop_within"),
    "seed": ("search", "seed"),
    "parallel": ("search", "parallel"),
    "device": ("judging", "device"),
    "memory": ("search", "memory"),
    "objective": ("search", "objective"),
    "finalists": ("search", "finalists"),
    "compiled": ("judging", "baseline"),
    "ungated": ("judging", "ungated"),
    "unsafe": ("judging", "unsafe"),
    "wait_minutes": ("judging", "wait_minutes"),
    "policy": ("judging", "policy"),
    "dialect": ("judging", "dialect"),
    "includes": ("judging", "includes"),
    "asking": ("model",),
    "search_settings": ("search", "algorithm", "constants"),
}
"""Where an entry of format 1 stands since, and options that came later under the name that
`run.json` has for them; every other entry stands where it stood."""


def tables_of_format_2(table: Mapping[str, Any]) -> list[str]:
    """The tables of options in `table` that format 1 does not have, in their order."""
    options = {folders[0] for folders in PLACES.values()}
    return [name for name, value in table.items() if name in options and isinstance(value, Mapping)]


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a configuration in format 1 as one in format 2."""
    read = {"memory": OFF, **flat, "compiled": "compile" if flat.get("compiled") else "eager"}
    if (asking := read.get("asking")) is not None:
        read["asking"] = {k: v for k, v in asking.items() if (k, v) != ("cache", CACHE_FILE)}
    if (library := read.get("library")) is not None:
        named = (library.get("name"), library.get("path"))
        read["asking"] = {**read.get("asking", {}), "library": "=".join(filter(None, named))}
    table: dict[str, Any] = {"format": 2}
    for name, value in read.items():
        if name == "format":
            continue
        *folders, last = PLACES.get(name, (name,))
        inner = table
        for folder in folders:
            inner = inner.setdefault(folder, {})
        if name == "asking":
            inner.setdefault(last, {}).update(value)
        else:
            inner[last] = value
    return table


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a configuration in format 2, every option in it, as one in format 1."""
    moved = {places[0] for places in PLACES.values()}
    found = {name: value for name, value in table.items() if name not in moved}
    found |= {name: _at(table, places) for name, places in PLACES.items()}
    asking = {k: v for k, v in found["asking"].items() if k not in ("name", "api_base", "library")}
    asking["cache"] = asking["cache"] or CACHE_FILE
    memory = None if found["memory"] == OFF else found["memory"]
    return found | {
        "format": 1,
        "compiled": found["compiled"] == "compile",
        "memory": memory,
        "asking": asking,
    }


def named_flat(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Options, by the tables and fields of format 2, under the names that format 1 has for them."""
    names = {places: name for name, places in PLACES.items()}
    found: dict[str, Any] = {}
    for table, fields in options.items():
        for field, value in fields.items():
            if isinstance(value, Algorithm):
                found |= {"search": value.name, "search_settings": value.constants}
            else:
                found[names.get((table, field), field)] = value
    return found


def _at(table: Mapping[str, Any], places: tuple[str, ...]) -> Any:
    found: Any = table
    for place in places:
        found = found[place]
    return found
