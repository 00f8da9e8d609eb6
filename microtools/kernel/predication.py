"""Lanes are switched off by predicates: instructions are issued that do nothing there."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength

SWITCHED_OFF = 0.25
"""Guards such as ``if (i < n) return`` alone cost a short kernel up to a tenth of its lanes."""
ISSUING = 0.35


def judge(context: KernelContext) -> Finding | None:
    """Silent if instructions are not what the time goes to."""
    lanes = context.values(m.THREADS_PER_INSTRUCTION, m.ACTIVE_THREADS_PER_INSTRUCTION)
    if lanes is None or lanes[0] <= 0 or context.dram_saturated:
        return None
    issue = context.value(m.ISSUE)
    off = 1 - lanes[1] / lanes[0]
    if off < SWITCHED_OFF or (issue is not None and issue < ISSUING):
        return None
    predicated = ""
    if context.sass is not None and context.sass.instructions and context.sass.predicated:
        share = context.sass.predicated / context.sass.instructions
        predicated = f" {share:.0%} of the code's instructions carry a predicate."
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=context.hot_lines,
        strength=0.8 * strength(off, SWITCHED_OFF, 0.6),
        evidence=(
            Evidence(
                metric="share of active lanes that a predicate switches off",
                value=round(off, 3),
                threshold=SWITCHED_OFF,
            ),
        ),
        advice=(
            f"Of the lanes that an instruction is issued for, {off:.0%} are switched off by its "
            f"predicate.{predicated} Take checks of bounds out of the inner loop (a full main part "
            "and a guarded rest, or padded data), make the condition the same for a whole warp so "
            "that it can branch around the work, and avoid long bodies under an if whose both "
            "sides are computed."
        ),
        methods=("compute.strength_reduction", "compute.loop_unrolling"),
    )


TOOL = Tool(
    name="predication",
    level="kernel",
    affinity=RUNNING,
    order=270,
    judge=judge,
    symptom_of=frozenset({"divergence"}),
)
