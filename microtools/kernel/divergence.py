"""Instructions are issued for far fewer than 32 lanes."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength, where

DIVERGED = 24.0
UNIFORM = 90.0


def judge(context: KernelContext) -> Finding | None:
    lanes = context.value(m.THREADS_PER_INSTRUCTION)
    if lanes is None or not 0 < lanes < DIVERGED or context.dram_saturated:
        return None
    uniform = context.value(m.UNIFORM_BRANCHES)
    torn = uniform is not None and 0 < uniform < UNIFORM  # code without branches shows 0
    lines = context.lines("branches")
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=strength(lanes, DIVERGED, 8.0),
        evidence=(
            Evidence(metric=m.THREADS_PER_INSTRUCTION, value=lanes, threshold=DIVERGED),
            *((percent(m.UNIFORM_BRANCHES, uniform or 0.0, UNIFORM),) if torn else ()),
        ),
        advice=(
            f"An average instruction runs for {lanes:.1f} of 32 lanes{where(lines)}. Give whole "
            "warps the same branch: sort or regroup the work by what it needs, let a warp share a "
            "long item instead of each lane walking its own, replace a tree in which half the "
            "threads drop out at each step by warp shuffles, and predicate short branches."
        ),
        methods=("compute.warp_primitives", "latency.work_per_thread"),
    )


TOOL = Tool(
    name="divergence",
    level="kernel",
    affinity=RUNNING,
    order=260,
    judge=judge,
    symptom_of=frozenset({"block_shape"}),
)
