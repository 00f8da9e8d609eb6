"""Which micro-tools there are: ours, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import get_args

from mcts.domain import BoundClass, Level
from mcts.microtool.tool import MicroTool, Tool
from microtools import instruction, kernel, system

GROUP = "rooftree.microtools"


def _built_in() -> Iterator[Tool]:
    """The `TOOL` of every module in the folders of the three levels."""
    for level in (instruction, kernel, system):
        for _, name, _ in iter_modules(level.__path__, f"{level.__name__}."):
            yield import_module(name).TOOL


BUILTIN: tuple[Tool, ...] = tuple(sorted(_built_in(), key=lambda tool: (tool.order, tool.name)))
"""In the order in which equal scores are ranked: causes before what they bring about."""


def available() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """All tools, ours first, and a note for each registered one that cannot be used."""
    return _load()


@lru_cache(maxsize=1)
def _load() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """The built-in tools and those of `points`, with notes on what cannot be used.

    A name that is taken, by us or by a tool registered before (in the order of the names), is
    refused with a note.
    """
    tools: dict[str, MicroTool] = {tool.name: tool for tool in BUILTIN}
    notes: list[str] = []
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        if _is_ours(point):
            continue
        try:
            tool = point.load()
            problem = _problem(tool, taken=tools)
            if not problem:
                tools[tool.name] = tool
        except Exception as error:  # noqa: BLE001 - foreign code: its failure becomes a note
            problem = f"cannot be used: {error}"
        if problem:
            notes.append(f"micro-tool {point.name!r} ({point.value}) {problem}")
    return tuple(tools.values()), tuple(notes)


def _is_ours(point: EntryPoint) -> bool:
    """Whether it names a built-in tool: an older release registered them, and may be installed."""
    return point.value.startswith("microtools.")


def _problem(tool: object, *, taken: Iterable[str]) -> str:
    """What keeps `tool` from being used; "" where nothing does. May raise what the tool raises."""
    if isinstance(tool, type) or not isinstance(tool, MicroTool):
        return "is no micro-tool: it needs name, level, affinity and examine"
    if not isinstance(tool.name, str) or not tool.name:
        return "has no name"
    if tool.name in taken:
        return f"is left out: there is a micro-tool {tool.name!r} already"
    if tool.level not in get_args(Level):
        return f"has the level {tool.level!r}; it must be one of {', '.join(get_args(Level))}"
    causes: object = getattr(tool, "symptom_of", frozenset())
    if not isinstance(causes, Set) or not all(isinstance(name, str) for name in causes):
        return "has a symptom_of that is no set of tools' names"
    unknown = set(tool.affinity) - set(get_args(BoundClass))
    if unknown or not tool.affinity:
        named = ", ".join(sorted(map(str, unknown))) or "no class"
        return f"has affinity to {named}; classes are {', '.join(get_args(BoundClass))}"
    return ""
