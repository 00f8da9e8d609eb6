"""Tiles are staged through registers, and nothing is fetched while one is used."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, strength, where

LEAST_STALL = 0.15
LEAST_LOADS = 0.1
"""Share of warp latency on global memory alone; barriers without it are another fault."""


def judge(context: KernelContext) -> Finding | None:
    """A tile staged by load, store, barrier, with no copy in the background.

    Without counters, a loop that loads a tile between two barriers says it, at half the strength.
    """
    if not context.stages_tiles or context.dram_saturated or context.pipe_saturated:
        return None
    seen: tuple[Evidence, ...] = ()
    share = context.stall_share(m.STALL_LONG_SCOREBOARD, m.STALL_BARRIER)
    if share is None:
        if not _loads_between_barriers(context):
            return None
        score = 0.5
    else:
        loads = context.stall_share(m.STALL_LONG_SCOREBOARD)
        if share < LEAST_STALL or (loads is not None and loads < LEAST_LOADS):
            return None
        score = 0.8 * strength(share, LEAST_STALL, 0.6)
        seen = (
            Evidence(
                metric="share of warp latency on global memory and barriers",
                value=round(share, 3),
                threshold=LEAST_STALL,
            ),
        )
    lines = context.lines("shared_stores")
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=score,
        evidence=(
            *seen,
            Evidence(metric="asynchronous copies in the code", value=0, threshold=1),
        ),
        advice=(
            "Each tile goes from global memory through registers into shared memory"
            f"{where(lines)}, and everyone waits for it. Use two tile buffers and fetch the next "
            "tile while this one is used: with cp.async (16 bytes per thread, __pipeline or "
            "cp.async.wait_group), or by loading it into registers before the computation and "
            "storing it after."
        ),
        methods=("latency.double_buffering", "memory.async_copy"),
    )


def _loads_between_barriers(context: KernelContext) -> bool:
    loops = context.sass.loops if context.sass else ()
    return any(loop.global_loads and loop.barriers >= 2 for loop in loops)


TOOL = Tool(
    name="async_copy",
    level="instruction",
    affinity=frozenset({"memory", "latency", "compute", "mixed"}),
    order=250,
    judge=judge,
    symptom_of=frozenset({"bank_conflicts", "coalescing", "register_spills"}),
)
