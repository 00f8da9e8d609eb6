"""What a micro-tool is: a trigger on evidence, with advice (KernelPro, section 3).

A tool looks at one kernel's profile and either stays silent or returns one `Finding`. It is
deterministic, and it never says anything about a quantity that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mcts.domain import BoundClass, Evidence, Finding, Level
from mcts.microtool.kernel_context import BUSY, DRAM_FULL, PIPE_FULL, REUSING, KernelContext
from mcts.microtool.relief import Relief

__all__ = [
    "ANY",
    "BUSY",
    "DRAM_FULL",
    "PIPE_FULL",
    "REUSING",
    "RUNNING",
    "WEAKEST",
    "KernelContext",
    "MicroTool",
    "Relief",
    "Tool",
    "capped",
    "percent",
    "strength",
    "where",
]

ANY: frozenset[BoundClass] = frozenset(
    {"compute", "memory", "latency", "launch", "mixed", "unknown"}
)
RUNNING: frozenset[BoundClass] = ANY - {"launch"}
"""Every class in which the kernel itself, not its launch, takes the time."""
WEAKEST = 0.25
"""Strength of a finding exactly at its threshold."""
FEW_LINES = 4


@runtime_checkable
class MicroTool(Protocol):
    """The interface of the entry-point group `rooftree.microtools`.

    `affinity` names the roofline classes in which the tool runs; `level` whether it reads counters
    (`kernel`), machine code (`instruction`) or the timeline (`system`). A tool may also have
    `symptom_of`, the names of tools whose findings explain its own, and `relief`, which says of a
    kernel what following its advice leaves of the work: findings then say what that would gain.
    """

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> Level: ...

    @property
    def affinity(self) -> frozenset[BoundClass]: ...

    def examine(self, context: KernelContext) -> Finding | None:
        """One finding, or None. Pure; may raise, and is then skipped with a note."""
        ...


@dataclass(frozen=True)
class Tool:
    """A micro-tool made of a function; what every built-in tool is.

    `symptom_of` names the tools whose findings explain this one's: what they leave unexplained of
    it is what counts (see `microtools.ranking`). `order` is the place among findings of equal
    score, the lowest first: causes come before what they bring about. `relief` says what following
    the advice leaves of a kernel's work; for a built-in tool `microtools.reliefs` has it.
    """

    name: str
    level: Level
    affinity: frozenset[BoundClass]
    judge: Callable[[KernelContext], Finding | None]
    symptom_of: frozenset[str] = frozenset()
    order: int = 1000
    relief: Callable[[KernelContext], Relief | None] | None = None

    def examine(self, context: KernelContext) -> Finding | None:
        """The judge's finding, marked with the tool's level."""
        finding = self.judge(context)
        if isinstance(finding, Finding) and finding.level != self.level:
            return finding.model_copy(update={"level": self.level})
        return finding


def strength(value: float, threshold: float, full: float) -> float:
    """The strength of `value`: WEAKEST at `threshold`, 1 from `full` on (in either direction)."""
    ramp = (value - threshold) / (full - threshold)
    return WEAKEST + (1 - WEAKEST) * min(1.0, max(0.0, ramp))


def percent(metric: str, value: float, threshold: float) -> Evidence:
    """Evidence of a counter in % of peak."""
    return Evidence(metric=metric, value=value, threshold=threshold, unit="%")


def capped(saved: float, cap: float) -> float:
    """The speedup when a share `saved` of the time goes away (Amdahl), at most `cap`."""
    return round(min(cap, 1 / max(1e-9, 1 - min(1.0, max(0.0, saved)))), 2)


def where(lines: Sequence[int]) -> str:
    """ " (line 17)" or " (lines 17, 21)" to put behind what the lines hold; "" for none or many."""
    if not lines or len(lines) > FEW_LINES:
        return ""
    listed = ", ".join(str(line) for line in lines)
    return f" ({'line' if len(lines) == 1 else 'lines'} {listed})"
