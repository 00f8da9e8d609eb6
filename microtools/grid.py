"""A grid or block that leaves the device partly empty."""

from __future__ import annotations

import math

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import ANY, Case, Tool, strength

TAIL_GAIN = 0.20
WARP = 32
LEAST_BLOCK = 64


def small_grid(case: Case) -> Finding | None:
    """Less than one wave of blocks: some multiprocessors have nothing, the others too little."""
    waves = case.value(m.WAVES)
    if waves is None or waves >= 1:
        return None
    blocks = case.values(m.GRID, m.MULTIPROCESSORS)
    counted = f"{blocks[0]:.0f} blocks on {blocks[1]:.0f} multiprocessors. " if blocks else ""
    return Finding(
        tool=SMALL_GRID.name,
        axis="latency",
        strength=strength(waves, 1.0, 0.25),
        evidence=(Evidence(metric=m.WAVES, value=waves, threshold=1),),
        advice=(
            f"The grid fills only {waves:.0%} of one wave. {counted}Expose more parallelism: "
            "smaller tiles or fewer elements per thread, or split the reduction dimension over "
            "blocks and combine the parts."
        ),
        methods=("parallelism.split_k", "latency.block_size", "latency.work_per_thread"),
    )


def tail_wave(case: Case) -> Finding | None:
    """A last wave that is far from full, after few full ones."""
    waves = case.value(m.WAVES)
    if waves is None or waves < 1:
        return None
    idle = math.ceil(waves) - waves
    lost = idle / math.ceil(waves)
    if lost < TAIL_GAIN:
        return None
    return Finding(
        tool=TAIL_WAVE.name,
        axis="latency",
        strength=strength(lost, TAIL_GAIN, 0.5),
        evidence=(
            Evidence(
                metric="share of the time the tail wave leaves idle",
                value=round(lost, 3),
                threshold=TAIL_GAIN,
            ),
            Evidence(metric=m.WAVES, value=waves, threshold=math.ceil(waves)),
        ),
        advice=(
            f"The grid is {waves:.2f} waves of blocks: the last wave leaves {lost:.0%} of the time "
            "idle. Choose tile and block so that the grid is a whole number of waves, use smaller "
            "blocks, or a persistent grid of exactly the resident blocks that loops over the work."
        ),
        methods=("latency.persistent_grid", "latency.block_size", "latency.work_per_thread"),
        # A memory-bound wave that is not full runs faster: nothing can be promised there.
        expected_gain=round(1 / (1 - lost), 2) if case.bound in ("compute", "latency") else None,
    )


def block_shape(case: Case) -> Finding | None:
    """Blocks that waste lanes or are too small to fill a multiprocessor."""
    block = case.value(m.BLOCK)
    if block is None or block < 1 or (block % WARP == 0 and block >= LEAST_BLOCK):
        return None
    wasted = 1 - block / (WARP * math.ceil(block / WARP))
    why = f"leave {wasted:.0%} of the lanes empty" if wasted else "are a single warp"
    return Finding(
        tool=BLOCK_SHAPE.name,
        axis="latency",
        strength=strength(wasted, 0.0, 0.5),
        evidence=(Evidence(metric=m.BLOCK, value=block, threshold=LEAST_BLOCK, unit=" threads"),),
        advice=(
            f"Blocks of {block:.0f} threads {why}. Use a multiple of 32, usually 128 to 256 "
            "threads."
        ),
        methods=("latency.block_size",),
    )


SMALL_GRID = Tool(name="small_grid", level="kernel", affinity=ANY, judge=small_grid)
TAIL_WAVE = Tool(name="tail_wave", level="kernel", affinity=ANY, judge=tail_wave)
BLOCK_SHAPE = Tool(
    name="block_shape",
    level="kernel",
    affinity=frozenset({"latency", "mixed", "memory", "compute"}),
    judge=block_shape,
)
