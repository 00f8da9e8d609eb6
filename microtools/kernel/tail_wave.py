"""The last wave of blocks is mostly empty, after few full ones."""

from __future__ import annotations

import math

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength

TAIL_GAIN = 0.20


def judge(context: KernelContext) -> Finding | None:
    """What the tail leaves idle cannot be more than what is idle: a busy unit bounds it."""
    waves = context.value(m.WAVES)
    if waves is None or waves < 1:
        return None
    lost = 1 - waves / math.ceil(waves)
    lost = min(lost, 1 - min(100.0, context.busiest or 0.0) / 100)
    if lost < TAIL_GAIN:
        return None
    return Finding(
        tool=TOOL.name,
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
    )


TOOL = Tool(name="tail_wave", level="kernel", affinity=RUNNING, order=170, judge=judge)
