"""Which micro-tools there are: ours, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from microtools import (
    arithmetic,
    async_copy,
    bank_conflicts,
    coalescing,
    grid,
    issue,
    narrow_access,
    occupancy,
    reuse,
    spills,
    stalls,
    traffic,
)
from microtools.tool import MicroTool, Tool

GROUP = "rooftree.microtools"

BUILTIN: tuple[Tool, ...] = (
    coalescing.TOOL,
    narrow_access.TOOL,
    bank_conflicts.TOOL,
    traffic.EXCESS_TRAFFIC,
    traffic.DRAM_SATURATED,
    reuse.TOOL,
    occupancy.LIMITER,
    occupancy.SHORTFALL_TOOL,
    spills.TOOL,
    *stalls.TOOLS,
    async_copy.TOOL,
    issue.STARVED_TOOL,
    issue.CROWDED_TOOL,
    grid.SMALL_GRID,
    grid.TAIL_WAVE,
    grid.BLOCK_SHAPE,
    arithmetic.FMA_SHARE_TOOL,
    arithmetic.UNFUSED,
    arithmetic.SPECIAL_FUNCTIONS,
    arithmetic.DIVERGENCE,
    arithmetic.TENSOR_CORES,
)
"""In the order in which equal strengths are ranked."""


def available() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """All tools, ours first, and a note for each registered one that could not be loaded.

    A registered tool under a name we already have is left out: ours are registered too, so that
    they can be found the same way.
    """
    return _load()


@lru_cache(maxsize=1)
def _load() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """The built-in tools and those of `points`, with notes on what could not be loaded."""
    tools: dict[str, MicroTool] = {tool.name: tool for tool in BUILTIN}
    notes: list[str] = []
    for point in sorted(points, key=lambda point: point.name):
        if point.name in tools:
            continue
        try:
            tool = point.load()
        except Exception as error:  # noqa: BLE001 - foreign code: its failure becomes a note
            notes.append(f"micro-tool {point.name!r} could not be loaded: {error}")
            continue
        if isinstance(tool, MicroTool):
            tools.setdefault(tool.name, tool)
        else:
            notes.append(f"micro-tool {point.name!r} ({point.value}) is no micro-tool")
    return tuple(tools.values()), tuple(notes)
