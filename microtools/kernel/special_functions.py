"""The unit for transcendental functions, divisions and square roots is the busy one."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, RUNNING, KernelContext, Tool, percent, strength, where
from microtools.code_costs import MOST_STRENGTH, cycles_over_issue

PIPE_BUSY = 60.0
LEADING = 35.0
"""% from which the unit matters if no other arithmetic pipe, nor DRAM, is as busy."""
USED, ISSUING, FREQUENT = 20.0, 0.6, 0.07
_OTHERS = (m.FMA_PIPE, m.ALU_PIPE, m.FP64_PIPE, m.TENSOR_PIPE)


def judge(context: KernelContext) -> Finding | None:
    """Silent if the code converts more than it computes: conversions use the same unit."""
    busy = context.value(m.XU_PIPE)
    sass = context.sass
    if context.dram_saturated or (sass and sass.conversion_ops > sass.special_ops):
        return None
    if busy is None:
        return _by_code(context)
    frequent = _frequent(context, busy)
    if busy < _threshold(context) and frequent is None:
        return None
    score = strength(busy, LEADING, 85.0)
    if frequent is not None:
        score = max(score, 0.8 * strength(frequent.value, frequent.threshold, 0.2))
    count = f" The code holds {sass.special_ops} MUFU." if sass else ""
    said = f"The special-function unit is {busy:.0f} % busy{{}}.{count}"
    evidence = (
        *((percent(m.XU_PIPE, busy, _threshold(context)),) if busy >= _threshold(context) else ()),
        *((frequent,) if frequent else ()),
    )
    return _finding(context, said, score, evidence)


def _by_code(context: KernelContext) -> Finding | None:
    """Where nothing was counted: the unit takes longer than to issue all of the hot code."""
    filled = cycles_over_issue(context, "special")
    if filled is None or filled <= 1:
        return None
    said = (
        f"In the hot code the special-function unit takes {filled:.1f} times as long{{}} as "
        "issuing all instructions there."
    )
    metric = "cycles of the special-function unit over those of issuing the hot code"
    evidence = Evidence(metric=metric, value=round(filled, 2), threshold=1)
    return _finding(context, said, MOST_STRENGTH * strength(filled, 1.0, 3.0), (evidence,))


def _finding(
    context: KernelContext, said: str, score: float, evidence: tuple[Evidence, ...]
) -> Finding:
    """`said` has a place for the lines."""
    lines = context.lines("special_ops")
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=score,
        evidence=evidence,
        advice=(
            f"{said.format(where(lines))} It works at a "
            "quarter of the rate of multiply-adds or less. Compute each transcendental once and "
            "keep it, use exp2f with a folded log2(e) factor or __expf, __sinf, __fdividef where "
            "the tolerance allows, replace divisions by one reciprocal, and x / sqrtf(y) by "
            "x * rsqrtf(y)."
        ),
        methods=("compute.fast_math", "memory.register_reuse"),
    )


def _frequent(context: KernelContext, busy: float) -> Evidence | None:
    """Special functions so frequent in hot code that the steps around each fill the issue slots.

    An exact division or square root is one MUFU with about ten instructions of correction.
    """
    issue = context.value(m.ISSUE)
    waiting = (context.value(m.DRAM) or 0.0) >= BUSY
    if busy < USED or issue is None or issue < ISSUING or waiting or context.pipe_saturated:
        return None
    mix = context.sass.hot_mix if context.sass else {}
    total = sum(mix.values())
    share = mix.get("special", 0) / total if total else 0.0
    if share < FREQUENT:
        return None
    metric = "special functions as a share of the instructions in the hot code"
    return Evidence(metric=metric, value=round(share, 3), threshold=FREQUENT)


def _threshold(context: KernelContext) -> float:
    others = context.known(*_OTHERS)
    leads = bool(others) and max(others.values()) <= (context.value(m.XU_PIPE) or 0.0)
    waiting = (context.value(m.DRAM) or 0.0) >= BUSY
    return LEADING if leads and not waiting else PIPE_BUSY


TOOL = Tool(
    name="special_functions",
    level="kernel",
    affinity=RUNNING,
    order=280,
    judge=judge,
    symptom_of=frozenset({"stray_doubles"}),
)
