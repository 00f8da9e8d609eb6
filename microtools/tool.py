"""What a micro-tool is: a trigger on evidence, and a word of advice (KernelPro, section 3).

A tool looks at one kernel's profile and either stays silent or returns one `Finding`. It is
deterministic, and it never says anything about a quantity that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

from mcts.domain import (
    BoundClass,
    Evaluation,
    Finding,
    KernelProfile,
    KernelTask,
    Profile,
    Roofline,
    SassFacts,
    evaluate_int,
)
from mcts.domain import metrics as m

Level = Literal["kernel", "instruction"]
ANY: frozenset[BoundClass] = frozenset(
    {"compute", "memory", "latency", "launch", "mixed", "unknown"}
)
DRAM_FULL = 80.0
"""% of peak from which DRAM is as busy as real traffic gets it."""
REUSING = 4.0
"""Operations per least byte from which a task uses each value several times."""
WEAKEST = 0.25
"""Strength of a finding exactly at its threshold."""


@dataclass(frozen=True)
class Case:
    """What a tool may look at: the dominant kernel of a measured candidate, and its task."""

    task: KernelTask
    evaluation: Evaluation
    profile: Profile
    kernel: KernelProfile

    @property
    def roofline(self) -> Roofline | None:
        return self.profile.roofline

    @property
    def bound(self) -> BoundClass:
        return self.roofline.bound if self.roofline else "unknown"

    @property
    def sass(self) -> SassFacts | None:
        return self.kernel.sass

    def value(self, metric: str) -> float | None:
        """The kernel's counter, or None where it was not measured."""
        return self.kernel.value(metric)

    def values(self, *metrics: str) -> tuple[float, ...] | None:
        """All of `metrics`, or None where one of them was not measured."""
        found = [self.kernel.value(metric) for metric in metrics]
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(metrics) else None

    def stall_share(self, stall: str) -> float | None:
        """Share of a warp's time between two instructions spent on `stall`, in [0, 1]."""
        known = self.values(stall, m.WARP_LATENCY)
        return known[0] / known[1] if known and known[1] > 0 else None

    @property
    def saturated(self) -> bool:
        """Whether DRAM was measured to be the limit: waits elsewhere are then its symptoms."""
        dram = self.value(m.DRAM)
        return dram is not None and dram >= DRAM_FULL

    @property
    def staged(self) -> bool:
        """Whether tiles go through registers into shared memory, to be used several times there.

        A reduction's scratch is no tile: it gets fewer stores than there are loads to reduce, or
        belongs to a task that uses each value once.
        """
        if self.sass is None or self.sass.async_copies or self.sass.bulk_copies:
            return False
        loads, stores = sum(self.sass.global_loads.values()), sum(self.sass.shared_stores.values())
        reusing = self.intensity is None or self.intensity >= REUSING
        return reusing and self.sass.barriers >= 2 and stores >= loads > 0

    @cached_property
    def least_bytes(self) -> int | None:
        """Bytes any implementation must move on the timed workload; None where not declared."""
        cost = self.task.cost
        return None if cost is None else evaluate_int(cost.bytes, self.task.timed_workload.shape)

    @cached_property
    def intensity(self) -> float | None:
        """The task's operations per least byte."""
        if self.task.cost is None or not self.least_bytes:
            return None
        return evaluate_int(self.task.cost.flops, self.task.timed_workload.shape) / self.least_bytes


@runtime_checkable
class MicroTool(Protocol):
    """The interface of the entry-point group `rooftree.microtools`.

    `affinity` names the roofline classes in which the tool runs; `level` whether it reads counters
    or machine code.
    """

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> Level: ...

    @property
    def affinity(self) -> frozenset[BoundClass]: ...

    def examine(self, case: Case) -> Finding | None:
        """One finding, or None. Pure; may raise, and is then skipped with a note."""
        ...


@dataclass(frozen=True)
class Tool:
    """A micro-tool made of a function; what every built-in tool is."""

    name: str
    level: Level
    affinity: frozenset[BoundClass]
    judge: Callable[[Case], Finding | None]

    def examine(self, case: Case) -> Finding | None:
        return self.judge(case)


def strength(value: float, threshold: float, full: float) -> float:
    """How strongly `value` speaks: WEAKEST at `threshold`, 1 from `full` on (either direction)."""
    ramp = (value - threshold) / (full - threshold)
    return WEAKEST + (1 - WEAKEST) * min(1.0, max(0.0, ramp))
