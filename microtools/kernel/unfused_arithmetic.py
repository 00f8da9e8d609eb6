"""Separate multiplies and adds where one instruction could do both."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, strength, where

UNFUSED_SHARE = 0.6
FMA_BUSY = 40.0
ISSUING = 0.6


def judge(context: KernelContext) -> Finding | None:
    """Silent if neither the arithmetic pipe nor the issue slots are in demand."""
    known = context.values(m.FFMA, m.FADD, m.FMUL)
    if known is None or min(known[1:]) <= 0:
        return None
    pipe, issue = context.value(m.FMA_PIPE), context.value(m.ISSUE)
    idle = pipe is not None and pipe < FMA_BUSY and (issue is None or issue < ISSUING)
    share = 2 * min(known[1], known[2]) / sum(known)
    if share < UNFUSED_SHARE or idle:
        return None
    lines = context.lines("fadd_ops", "fmul_ops")
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=0.8 * strength(share, UNFUSED_SHARE, 1.0),
        evidence=(
            Evidence(
                metric="share of fp32 operations in unfused multiply and add pairs",
                value=round(share, 3),
                threshold=UNFUSED_SHARE,
            ),
        ),
        advice=(
            f"Multiplies and adds run as separate instructions{where(lines)}: up to "
            f"{share / 2:.0%} of the fp32 instructions could go. Write them as a * b + c in one "
            "expression or as fmaf, fold constant factors, and drop __fmul_rn, __fadd_rn and "
            "-fmad=false where they are not needed, so that the compiler can fuse them."
        ),
        methods=("compute.fast_math",),
    )


TOOL = Tool(
    name="unfused_arithmetic",
    level="kernel",
    affinity=frozenset({"compute", "mixed", "latency"}),
    order=310,
    judge=judge,
)
