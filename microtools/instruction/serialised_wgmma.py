"""Tensor-core groups wait for one another: nothing is in flight while the next is issued."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import PIPE_FULL, RUNNING, KernelContext, Tool, percent, strength, where

LEAST_SHARE = 0.5
"""Share of the instructions that are waited for; of a group of four waited for as a whole: 0.25."""
FEWEST = 2
PIPE_IDLE = 50.0
"""% of peak up to which the tensor pipe has ample room."""
MUCH_WAITING = 0.5
UNMEASURED = 0.6


def judge(context: KernelContext) -> Finding | None:
    """The machine code says it; counters, how much it matters."""
    sass = context.sass
    if sass is None or sass.wgmma_ops < FEWEST or context.pipe_saturated or context.dram_saturated:
        return None
    share = sass.serial_wgmma_ops / sass.wgmma_ops
    if share < LEAST_SHARE:
        return None
    lines = context.lines("serial_wgmma_ops")
    pipe = context.value(m.TENSOR_PIPE)
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=_weight(context)
        * (0.2 + 0.8 * context.dram_headroom)
        * strength(share, LEAST_SHARE, 1.0),
        evidence=(
            Evidence(
                metric="share of wgmma instructions waited for before the next",
                value=round(share, 3),
                threshold=LEAST_SHARE,
            ),
            *(() if pipe is None else (percent(m.TENSOR_PIPE, pipe, PIPE_FULL),)),
        ),
        advice=(
            f"{sass.serial_wgmma_ops} of {sass.wgmma_ops} wgmma instructions{where(lines)} are "
            "waited for before the next one is issued, and the tensor cores idle in between. "
            "Compile and look for the reason in ptxas' notes: C7510 to C7515 (wgmma instructions "
            "are serialized) or C7517 (a wait is injected). Mostly accumulators are read or "
            "written between the first wgmma and its wait_group, branches meet while wgmmas are "
            "in flight, accumulators pass through a function that is not inlined or are indexed "
            "by a variable, registers do not suffice, or each wgmma has a wait_group 0 of its "
            "own. Let the sums live in one branch from the first wgmma to behind the wait, commit "
            "all steps of a stage as one group, and wait with one group still in flight."
        ),
        methods=("compute.wgmma",),
    )


def _weight(context: KernelContext) -> float:
    """More the emptier the tensor pipe is, or, if that is unknown, the longer warps wait for it.

    Their waiting alone proves nothing: Nsight counts some of it under another reason.
    """
    pipe = context.value(m.TENSOR_PIPE)
    if pipe is not None:
        return strength(pipe, PIPE_FULL, PIPE_IDLE)
    waiting = context.stall_share(m.STALL_GMMA) or 0.0
    return max(UNMEASURED, strength(waiting, 0.0, MUCH_WAITING))


TOOL = Tool(name="serialised_wgmma", level="instruction", affinity=RUNNING, order=20, judge=judge)
