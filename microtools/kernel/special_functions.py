"""The unit for transcendental functions, divisions and square roots is the busy one."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import BUSY, RUNNING, Case, Tool, percent, strength, where

PIPE_BUSY = 60.0
LEADING = 35.0
"""% from which the unit speaks where no other arithmetic pipe, nor DRAM, is as busy."""
USED, ISSUING, FREQUENT = 20.0, 0.6, 0.07
_OTHERS = (m.FMA_PIPE, m.ALU_PIPE, m.FP64_PIPE, m.TENSOR_PIPE)


def judge(case: Case) -> Finding | None:
    """Silent where the code converts more than it computes: conversions use the same unit."""
    busy = case.value(m.XU_PIPE)
    sass = case.sass
    if busy is None or case.saturated or (sass and sass.conversion_ops > sass.special_ops):
        return None
    frequent = _frequent(case, busy)
    if busy < _threshold(case) and frequent is None:
        return None
    loud = strength(busy, LEADING, 85.0)
    if frequent is not None:
        loud = max(loud, 0.8 * strength(frequent.value, frequent.threshold, 0.2))
    count = f" The code holds {sass.special_ops} MUFU." if sass else ""
    lines = case.lines("special_ops")
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=loud,
        evidence=(
            *((percent(m.XU_PIPE, busy, _threshold(case)),) if busy >= _threshold(case) else ()),
            *((frequent,) if frequent else ()),
        ),
        advice=(
            f"The special-function unit is {busy:.0f} % busy{where(lines)}.{count} It works at a "
            "quarter of the rate of multiply-adds or less. Compute each transcendental once and "
            "keep it, use exp2f with a folded log2(e) factor or __expf, __sinf, __fdividef where "
            "the tolerance allows, replace divisions by one reciprocal, and x / sqrtf(y) by "
            "x * rsqrtf(y)."
        ),
        methods=("compute.fast_math", "memory.register_reuse"),
    )


def _frequent(case: Case, busy: float) -> Evidence | None:
    """Special functions so frequent in hot code that the steps around each fill the issue slots.

    An exact division or square root is one MUFU with about ten instructions of correction.
    """
    issue = case.value(m.ISSUE)
    waiting = (case.value(m.DRAM) or 0.0) >= BUSY
    if busy < USED or issue is None or issue < ISSUING or waiting or case.computing:
        return None
    mix = case.sass.hot_mix if case.sass else {}
    total = sum(mix.values())
    share = mix.get("special", 0) / total if total else 0.0
    if share < FREQUENT:
        return None
    metric = "special functions as a share of the instructions in the hot code"
    return Evidence(metric=metric, value=round(share, 3), threshold=FREQUENT)


def _threshold(case: Case) -> float:
    others = case.known(*_OTHERS)
    leads = bool(others) and max(others.values()) <= (case.value(m.XU_PIPE) or 0.0)
    waiting = (case.value(m.DRAM) or 0.0) >= BUSY
    return LEADING if leads and not waiting else PIPE_BUSY


TOOL = Tool(
    name="special_functions",
    level="kernel",
    affinity=RUNNING,
    order=280,
    judge=judge,
    symptom_of=frozenset({"stray_doubles"}),
)
