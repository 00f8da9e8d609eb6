"""Tools about what warps wait for between two instructions share one shape.

A stall is worth a word only where waiting is what limits: not where the schedulers issue nearly
always, an arithmetic pipe is full, or DRAM is as busy as it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mcts.domain import Axis, BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength, where

THRESHOLD = 0.30
CRITICAL = 0.60
ISSUE_ENOUGH = 0.8
DRAM_ENOUGH = 70.0
"""% of peak of DRAM from which waiting is no longer what limits: a copy reaches 86 %."""
FAINT = 0.15
"""Strength below which something else explains the wait."""
WAITING: frozenset[BoundClass] = frozenset({"latency", "memory", "mixed", "compute"})


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do in the case at hand: words, playbook methods, lines of the source."""

    advice: str
    methods: tuple[str, ...]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stall:
    """One or more stall reasons with a common remedy.

    Fires when the reasons together take more than `threshold` of warp latency; more faintly the
    busier DRAM is. `weight` in [0, 1] lowers the strength further where something else explains
    the wait, down to silence.
    """

    tool: str
    reasons: tuple[str, ...]
    axis: Axis
    remedy: Callable[[Case], Remedy]
    threshold: float = THRESHOLD
    weight: Callable[[Case], float] = field(default=lambda case: 1.0)
    affinity: frozenset[BoundClass] = WAITING

    def judge(self, case: Case) -> Finding | None:
        if case.computing or (case.value(m.ISSUE) or 0.0) >= ISSUE_ENOUGH:
            return None
        if (case.value(m.DRAM) or 0.0) >= DRAM_ENOUGH:
            return None
        share = case.stall_share(*self.reasons)
        if share is None or share <= self.threshold:
            return None
        weight = self.weight(case) * (0.2 + 0.8 * case.room)
        loud = weight * strength(share, self.threshold, max(CRITICAL, 2 * self.threshold))
        if loud < FAINT:
            return None
        remedy = self.remedy(case)
        return Finding(
            tool=self.tool,
            axis=self.axis,
            lines=remedy.lines,
            strength=loud,
            evidence=(self._evidence(case, share),),
            advice=f"{share:.0%} of a warp's time goes to {remedy.advice}{where(remedy.lines)}.",
            methods=remedy.methods,
        )

    def _evidence(self, case: Case, share: float) -> Evidence:
        """The share, named after the reasons that were seen, the greatest first."""
        seen = {reason: part for reason in self.reasons if (part := case.stall_share(reason))}
        names = sorted(seen, key=lambda reason: -seen[reason])
        return Evidence(
            metric=f"share of warp latency in {' + '.join(map(short_name, names))}",
            value=round(share, 3),
            threshold=self.threshold,
        )

    def as_tool(self, *, order: int, symptom_of: frozenset[str] = frozenset()) -> Tool:
        return Tool(
            name=self.tool,
            level="kernel",
            affinity=self.affinity,
            judge=self.judge,
            symptom_of=symptom_of,
            order=order,
        )


def short_name(stall: str) -> str:
    """``long_scoreboard`` for the counter of that stall."""
    return stall.split("_stalled_")[-1].split("_per_issue")[0]
