"""Few of the issued instructions are the arithmetic that the task is about."""

from __future__ import annotations

from mcts.domain import BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, PIPE_FULL, KernelContext, Tool, percent, strength

FMA_SHARE = 0.5
TENSOR_IDLE = 5.0
INTENSE = 16.0
_COMPUTING: frozenset[BoundClass] = frozenset({"compute", "memory", "mixed"})


def judge(context: KernelContext) -> Finding | None:
    """Speaks on intense fp32 tasks only. Adds and multiplies count as the task's arithmetic too."""
    known = context.values(m.FFMA, m.INSTRUCTIONS)
    if known is None or min(known) <= 0 or (context.intensity or 0.0) < INTENSE:
        return None
    if context.work is None or context.work.math != "fp32":
        return None
    fma = context.value(m.FMA_PIPE)
    if (context.value(m.TENSOR_PIPE) or 0.0) > TENSOR_IDLE or (fma or 0.0) >= PIPE_FULL:
        return None
    others = sum(context.known(m.FADD, m.FMUL).values())
    share = (known[0] + others) / 32 / known[1]
    if share >= FMA_SHARE:
        return None
    lines = context.hot_lines
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=strength(share, FMA_SHARE, 0.1),
        evidence=(
            Evidence(
                metric="fp32 arithmetic as a share of the issued instructions",
                value=round(share, 3),
                threshold=FMA_SHARE,
            ),
            *(() if fma is None or fma >= BUSY else (percent(m.FMA_PIPE, fma, BUSY),)),
        ),
        advice=(
            f"Only {share:.0%} of the issued instructions are the multiply-adds the task is about; "
            "the others load, index and branch. Let each thread compute a larger block of outputs "
            "in registers, load its operands 128 bits at a time, and unroll the inner loop so that "
            "addresses become constants."
        ),
        methods=("compute.register_tiling", "compute.loop_unrolling", "memory.vectorized_loads"),
    )


TOOL = Tool(
    name="fma_share",
    level="kernel",
    affinity=_COMPUTING,
    order=320,
    judge=judge,
    symptom_of=frozenset({"barrier_stalls", "divergence", "integer_arithmetic", "register_spills"}),
)
