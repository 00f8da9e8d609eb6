"""Double precision where single is meant: a literal without f, or a function of the wrong name."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength, where

PIPE_USED = 5.0
CODE_SHARE = 0.15
"""Of the arithmetic in the code; the slow path of a single sinf holds a double or two as well."""
SINGLE_SHARE = 0.1
"""Single over double arithmetic, above which a kernel that loads 64 bits at a time means floats."""
LEAST_OPS = 3


def judge(context: KernelContext) -> Finding | None:
    """Silent on tasks in fp64, and if DRAM is the limit: the doubles then cost nothing.

    Without a declared cost, fp64 beside fp32 arithmetic and conversions between them is taken for
    a mistake. Without the counter, the code's instructions stand in, with half the strength.
    Beside it they count too: conversions may keep the pipe from filling.
    """
    if context.dram_saturated or not _single_is_meant(context):
        return None
    used = context.value(m.FP64_PIPE)
    if used is not None:
        if used < PIPE_USED:
            return None
        share = _share_of_code(context) or 0.0
        coded = 0.8 * strength(share, CODE_SHARE, 0.6) if share >= CODE_SHARE else 0.0
        found = max(strength(used, PIPE_USED, 30.0), coded)
        evidence = percent(m.FP64_PIPE, used, PIPE_USED)
        how = f"The fp64 pipe is {used:.0f} % busy"
    else:
        share = _share_of_code(context) or 0.0
        if share < CODE_SHARE:
            return None
        found = 0.5 * strength(share, CODE_SHARE, 0.6)
        evidence = Evidence(
            metric="fp64 share of the arithmetic in the code",
            value=round(share, 3),
            threshold=CODE_SHARE,
        )
        how = f"{share:.0%} of the arithmetic in the code is fp64"
    lines = context.lines("double_ops")
    meant = f"the task is in {context.work.math}" if context.work else "the data seem to be single"
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=found,
        evidence=(evidence,),
        advice=(
            f"{how}{where(lines)}, though {meant}. Write literals with "
            "an f (0.5f), call the float functions (sqrtf, expf, fabsf, fmaxf), declare "
            "intermediates float; each double also costs two conversions and two registers. Where "
            "a long sum needs the digits, sum in float in blocks or with compensation."
        ),
        methods=("compute.strength_reduction", "compute.fast_math"),
    )


def _single_is_meant(context: KernelContext) -> bool:
    if context.work is not None:
        return context.work.math != "fp64"
    sass = context.sass
    if sass is None:
        return False
    single = sass.fma_ops + sass.fadd_ops + sass.fmul_ops + sass.half_ops
    if sass.global_loads.get("64"):  # doubles, or pairs of floats; a division of doubles has some
        return single > SINGLE_SHARE * sass.double_ops
    return bool(single or sass.conversion_ops)


def _share_of_code(context: KernelContext) -> float | None:
    sass = context.sass
    if sass is None or sass.double_ops < LEAST_OPS:
        return None
    single = sass.fma_ops + sass.fadd_ops + sass.fmul_ops + sass.half_ops
    return sass.double_ops / (sass.double_ops + single)


TOOL = Tool(name="stray_doubles", level="kernel", affinity=RUNNING, order=90, judge=judge)
