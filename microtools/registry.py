"""Which micro-tools there are: ours, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from mcts.domain import BoundClass, Level
from microtools.instruction import (
    async_copy,
    narrow_access,
    register_spills,
    rolled_loops,
    serialised_wgmma,
)
from microtools.kernel import (
    atomic_contention,
    bank_conflicts,
    barrier_stalls,
    block_shape,
    cache_thrash,
    coalescing,
    control_flow,
    conversions,
    crowded_schedulers,
    dependent_instructions,
    divergence,
    dram_saturated,
    excess_traffic,
    fma_share,
    global_latency,
    integer_arithmetic,
    load_queue,
    misaligned_access,
    missing_reuse,
    occupancy_limiter,
    occupancy_shortfall,
    predication,
    shared_latency,
    shared_saturated,
    small_grid,
    special_functions,
    starved_schedulers,
    stray_doubles,
    tail_wave,
    tensor_cores,
    unfused_arithmetic,
    write_drain,
)
from microtools.system import (
    allocations_in_loop,
    host_synchronisation,
    launch_overhead,
    library_kernels,
    pageable_copies,
    small_copies,
    stream_serialisation,
    transfer_bound,
    unfused_kernels,
)
from microtools.tool import MicroTool, Tool

GROUP = "rooftree.microtools"

BUILTIN: tuple[Tool, ...] = (
    tensor_cores.TOOL,
    serialised_wgmma.TOOL,
    coalescing.TOOL,
    register_spills.TOOL,
    small_grid.TOOL,
    atomic_contention.TOOL,
    missing_reuse.TOOL,
    bank_conflicts.TOOL,
    stray_doubles.TOOL,
    cache_thrash.TOOL,
    excess_traffic.TOOL,
    misaligned_access.TOOL,
    narrow_access.TOOL,
    dram_saturated.TOOL,
    shared_saturated.TOOL,
    block_shape.TOOL,
    tail_wave.TOOL,
    occupancy_limiter.TOOL,
    occupancy_shortfall.TOOL,
    global_latency.TOOL,
    barrier_stalls.TOOL,
    shared_latency.TOOL,
    load_queue.TOOL,
    write_drain.TOOL,
    async_copy.TOOL,
    divergence.TOOL,
    predication.TOOL,
    special_functions.TOOL,
    conversions.TOOL,
    integer_arithmetic.TOOL,
    unfused_arithmetic.TOOL,
    fma_share.TOOL,
    rolled_loops.TOOL,
    dependent_instructions.TOOL,
    control_flow.TOOL,
    crowded_schedulers.TOOL,
    starved_schedulers.TOOL,
    transfer_bound.TOOL,
    small_copies.TOOL,
    pageable_copies.TOOL,
    allocations_in_loop.TOOL,
    host_synchronisation.TOOL,
    stream_serialisation.TOOL,
    unfused_kernels.TOOL,
    library_kernels.TOOL,
    launch_overhead.TOOL,
)
"""In the order in which equal scores are ranked: causes before what they bring about."""


def available() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """All tools, ours first, and a note for each registered one that cannot be used."""
    return _load()


@lru_cache(maxsize=1)
def _load() -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> tuple[tuple[MicroTool, ...], tuple[str, ...]]:
    """The built-in tools and those of `points`, with notes on what cannot be used.

    Ours are registered too, so that they can be found the same way. A name that is taken, by us or
    by a tool registered before (in the order of the names), is refused with a note.
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
    """Whether it names a built-in tool, perhaps at a place where an older release had it."""
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
