"""Blocks that are no multiple of a warp, or too small to fill a multiprocessor."""

from __future__ import annotations

import math

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength

WARP = 32
WASTED = 0.03
"""Share of lanes below which an odd block size is not worth a word."""
FULL_ENOUGH = 80.0


def judge(context: KernelContext) -> Finding | None:
    """Lanes that a block leaves empty, or single-warp blocks that run out of block slots."""
    block = context.value(m.BLOCK)
    if block is None or block < 1:
        return None
    wasted = 1 - block / (WARP * math.ceil(block / WARP))
    if wasted >= WASTED:
        return _ragged(context, block, wasted)
    return _tiny(context, block) if block <= WARP else None


def _ragged(context: KernelContext, block: float, wasted: float) -> Finding | None:
    if context.dram_saturated:
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=strength(wasted, WASTED, 0.4),
        evidence=(
            Evidence(
                metric="share of lanes that the block size leaves empty",
                value=round(wasted, 3),
                threshold=WASTED,
            ),
        ),
        advice=(
            f"Blocks of {block:.0f} threads leave {wasted:.0%} of the lanes empty: the last warp "
            "of each block is not full, yet costs as much. Use a multiple of 32, usually 128 to "
            "256 threads, and let idle threads of the last block return early."
        ),
        methods=("latency.block_size",),
    )


def _tiny(context: KernelContext, block: float) -> Finding | None:
    """Silent if a unit is busy anyway, or the occupancy is fine."""
    occupancy = context.value(m.THEORETICAL_OCCUPANCY)
    if (
        context.busy
        or context.warp_specialised
        or (occupancy is not None and occupancy >= FULL_ENOUGH)
    ):
        return None
    held = [] if occupancy is None else [percent(m.THEORETICAL_OCCUPANCY, occupancy, FULL_ENOUGH)]
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=0.9 if occupancy is None else strength(occupancy, FULL_ENOUGH, 40.0),
        evidence=(Evidence(metric=m.BLOCK, value=block, threshold=WARP, unit=" threads"), *held),
        advice=(
            f"Blocks of {block:.0f} threads are a single warp: a multiprocessor runs out of block "
            "slots before it is full of warps, and every block pays its own set-up. Put several "
            "rows or tiles into one block, usually 128 to 256 threads."
        ),
        methods=("latency.block_size", "latency.work_per_thread"),
    )


TOOL = Tool(name="block_shape", level="kernel", affinity=RUNNING, order=160, judge=judge)
