"""Which micro-tools there are: ours, and those that other packages register."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Set
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import get_args

from mcts.domain import BoundClass, Level
from mcts.errors import RooftreeError
from mcts.microtool.tool import MicroTool, Tool
from microtools import instruction, kernel, system

GROUP = "rooftree.microtools"


@cache
def builtin() -> tuple[Tool, ...]:
    """Our own tools, in the order in which equal scores are ranked: causes before what they bring
    about.

    Every module in the folders of the three levels defines one as `TOOL`. RooftreeError names the
    module in which it is missing or cannot be used.
    """
    tools: dict[str, Tool] = {}
    for level in (instruction, kernel, system):
        for _, module, _ in iter_modules(level.__path__, f"{level.__name__}."):
            tool = getattr(import_module(module), "TOOL", None)
            if not isinstance(tool, Tool):
                raise RooftreeError(f"{module} defines no TOOL, an instance of Tool")
            if problem := _problem(tool, taken=tools):
                raise RooftreeError(f"the micro-tool of {module} {problem}")
            tools[tool.name] = tool
    return tuple(sorted(tools.values(), key=lambda tool: (tool.order, tool.name)))


def summary(tool: MicroTool) -> str:
    """What a tool looks for: the first paragraph of its module's text, or of its own."""
    for level in (instruction, kernel, system):
        module = sys.modules.get(f"{level.__name__}.{tool.name}")
        if module is not None and getattr(module, "TOOL", None) is tool:
            return _first_paragraph(module.__doc__)
    if isinstance(tool, Tool):
        return _first_paragraph(getattr(sys.modules.get(tool.judge.__module__), "__doc__", None))
    return _first_paragraph(type(tool).__doc__)


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").strip().partition("\n\n")[0].split())


@cache
def available() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """All tools, ours first, and a note for each registered one that cannot be used."""
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """The built-in tools and those of `points`, with notes on what cannot be used.

    A name that is taken, by us or by a tool registered before (in the order of the names), is
    refused with a note.
    """
    tools: dict[str, MicroTool] = {tool.name: tool for tool in builtin()}
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
    """What keeps `tool` from being used; "" if nothing does. May raise what the tool raises."""
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
