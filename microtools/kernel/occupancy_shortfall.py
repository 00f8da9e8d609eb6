"""Far fewer warps are active than could be: blocks are unequal, or too short to overlap."""

from __future__ import annotations

from mcts.domain import Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, percent, strength

SHORTFALL = 12.0


def judge(context: KernelContext) -> Finding | None:
    """Silent for a grid of less than one wave, which explains it, and if a unit is busy."""
    if (context.value(m.WAVES) or 1.0) < 1.0 or context.busy or context.warp_specialised:
        return None
    known = context.values(m.THEORETICAL_OCCUPANCY, m.ACHIEVED_OCCUPANCY)
    if known is None or known[0] - known[1] <= SHORTFALL:
        return None
    theoretical, achieved = known
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=strength(theoretical - achieved, SHORTFALL, 60.0),
        evidence=(percent(m.ACHIEVED_OCCUPANCY, achieved, theoretical - SHORTFALL),),
        advice=(
            f"Only {achieved:.0f} % of the warps were active where {theoretical:.0f} % could be: "
            "blocks, or warps in a block, end at different times, or blocks are too short to "
            "overlap. Give every block the same work (split the long ones, sort work by length, "
            "hand it out by an atomic counter), choose smaller blocks, or let a persistent grid of "
            "a few blocks per multiprocessor walk over the work."
        ),
        methods=("latency.block_size", "latency.persistent_grid", "latency.work_per_thread"),
    )


TOOL = Tool(
    name="occupancy_shortfall",
    level="kernel",
    affinity=frozenset({"latency", "memory", "mixed"}),
    order=190,
    judge=judge,
    symptom_of=frozenset({"atomic_contention", "block_shape", "coalescing", "tail_wave"}),
)
