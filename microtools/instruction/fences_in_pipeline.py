"""A pipeline of bulk copies fences the whole device at every step."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import PIPE_FULL, RUNNING, KernelContext, Tool, percent, strength, where

PIPE_IDLE = 50.0
"""% of peak up to which the tensor pipe has ample room."""
UNMEASURED = 0.6


def judge(context: KernelContext) -> Finding | None:
    """The machine code says it; counters, how much it matters.

    A loop that hands tiles over by mbarriers needs no fence: what passes through shared memory is
    ordered by them.
    """
    sass = context.sass
    if sass is None or not sass.bulk_copies or context.pipe_saturated or context.dram_saturated:
        return None
    fences = sum(loop.wide_fences for loop in sass.hot_loops)
    if not fences:
        return None
    lines = context.lines("wide_fences")
    pipe = context.value(m.TENSOR_PIPE) if sass.wgmma_ops else None
    weight = UNMEASURED if pipe is None else strength(pipe, PIPE_FULL, PIPE_IDLE)
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=weight * (0.2 + 0.8 * context.dram_headroom),
        evidence=(
            Evidence(
                metric="fences of the device's scope in the hot loop", value=fences, threshold=1
            ),
            *(() if pipe is None else (percent(m.TENSOR_PIPE, pipe, PIPE_FULL),)),
        ),
        advice=(
            f"The pipeline's loop holds {fences} fence{'s' * (fences > 1)} of the whole device's "
            f"scope (MEMBAR.ALL.GPU){where(lines)}: at each step a thread waits until all its "
            "earlier accesses are seen everywhere, some 0.3 us on an H200, and the stage is "
            "handed back only then. Mostly an mbarrier arrival is the cause that was written with "
            "`.release.cluster`: arrive with `mbarrier.arrive.shared::cta.b64` in the own block, "
            "or, after `mapa`, with `mbarrier.arrive.shared::cluster.b64` without a scope, as "
            "nothing was written that the other block reads. Take __threadfence() out of the loop, "
            "too."
        ),
        methods=("latency.mbarrier_pipeline",),
    )


TOOL = Tool(name="fences_in_pipeline", level="instruction", affinity=RUNNING, order=22, judge=judge)
