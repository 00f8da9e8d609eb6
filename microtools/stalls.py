"""The common form of tools about what warps wait for between two instructions.

A stall only matters if waiting is the limit: not if the schedulers issue nearly always, an
arithmetic pipe is full, or DRAM is as busy as it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mcts.domain import Axis, BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, strength, where

THRESHOLD = 0.30
CRITICAL = 0.60
ISSUE_ENOUGH = 0.8
DRAM_ENOUGH = 70.0
"""% of peak of DRAM from which waiting is no longer what limits: a copy reaches 86 %."""
LEAST_STRENGTH = 0.15
"""Strength below which something else explains the wait, so that the tool is silent."""
WAITING: frozenset[BoundClass] = frozenset({"latency", "memory", "mixed", "compute"})


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about it: advice, playbook methods, lines of the source."""

    advice: str
    methods: tuple[str, ...]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stall:
    """One or more stall reasons with a common remedy.

    Fires when the reasons together take more than `threshold` of warp latency; more weakly the
    busier DRAM is. `weight` in [0, 1] lowers the strength further if something else explains the
    wait, down to silence.
    """

    tool: str
    reasons: tuple[str, ...]
    axis: Axis
    remedy: Callable[[KernelContext], Remedy]
    threshold: float = THRESHOLD
    weight: Callable[[KernelContext], float] = field(default=lambda context: 1.0)
    affinity: frozenset[BoundClass] = WAITING

    def judge(self, context: KernelContext) -> Finding | None:
        if context.pipe_saturated or (context.value(m.ISSUE) or 0.0) >= ISSUE_ENOUGH:
            return None
        if (context.value(m.DRAM) or 0.0) >= DRAM_ENOUGH:
            return None
        share = context.stall_share(*self.reasons)
        if share is None or share <= self.threshold:
            return None
        weight = self.weight(context) * (0.2 + 0.8 * context.dram_headroom)
        score = weight * strength(share, self.threshold, max(CRITICAL, 2 * self.threshold))
        if score < LEAST_STRENGTH:
            return None
        remedy = self.remedy(context)
        return Finding(
            tool=self.tool,
            axis=self.axis,
            lines=remedy.lines,
            strength=score,
            evidence=(self._evidence(context, share),),
            advice=f"{share:.0%} of a warp's time goes to {remedy.advice}{where(remedy.lines)}.",
            methods=remedy.methods,
        )

    def _evidence(self, context: KernelContext, share: float) -> Evidence:
        """The share, named after the reasons that were seen, the greatest first."""
        seen = {reason: part for reason in self.reasons if (part := context.stall_share(reason))}
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
