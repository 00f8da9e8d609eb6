"""Conversions between types are a visible share of the work."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength, where
from microtools.code_costs import MOST_STRENGTH, cycles_over_issue

CODE_SHARE = 0.12
UNIT_BUSY = 40.0
ISSUING = 0.6
DIVISION = 3
"""Conversions per MUFU up to which they may belong to an integer division."""


def judge(context: KernelContext) -> Finding | None:
    """Counts them in the hot code; silent if neither their unit nor the issue is in demand.

    Without counters, that takes longer than to issue all instructions there.
    """
    unit, issue = context.value(m.XU_PIPE), context.value(m.ISSUE)
    share = _share(context)
    if (
        share is None
        or share < CODE_SHARE
        or context.dram_saturated
        or _belongs_to_divisions(context)
    ):
        return None
    busy = unit is not None and unit >= UNIT_BUSY
    filled = cycles_over_issue(context, "conversion") or 0.0
    if not busy and (issue is None or issue < ISSUING) and filled <= 1:
        return None
    lines = context.lines("conversion_ops")
    weight = MOST_STRENGTH if filled > 1 else 0.2 + 0.8 * context.dram_headroom
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=lines,
        strength=weight * strength(share, CODE_SHARE, 0.4),
        evidence=(
            Evidence(
                metric="conversions as a share of the instructions in the hot code",
                value=round(share, 3),
                threshold=CODE_SHARE,
            ),
            *((percent(m.XU_PIPE, unit or 0.0, UNIT_BUSY),) if busy else ()),
        ),
        advice=(
            f"{share:.0%} of the hot code converts between types{where(lines)}, much of it at a "
            "quarter of the arithmetic rate or less. Convert each value once and keep it, stay in "
            "one type between load and store, process half precision in pairs (half2, "
            "__nv_bfloat162), keep loop counters out of floating point, and turn small integers "
            "into floats by bit tricks or a table where many must be converted."
        ),
        methods=("compute.packed_math", "compute.strength_reduction", "memory.register_reuse"),
    )


def _share(context: KernelContext) -> float | None:
    mix = context.sass.hot_mix if context.sass else {}
    total = sum(mix.values())
    return mix.get("conversion", 0) / total if total else None


def _belongs_to_divisions(context: KernelContext) -> bool:
    """Whether the conversions come two to a reciprocal among much integer work."""
    sass = context.sass
    if sass is None or not sass.special_ops:
        return False
    few = sass.conversion_ops <= DIVISION * sass.special_ops
    return few and sass.hot_mix.get("integer", 0) >= sum(sass.hot_mix.values()) / 2


TOOL = Tool(
    name="conversions",
    level="kernel",
    affinity=RUNNING,
    order=290,
    judge=judge,
    symptom_of=frozenset({"stray_doubles"}),
)
