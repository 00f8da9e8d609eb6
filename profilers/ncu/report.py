"""A parsed ncu report, independent of the form it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcts.domain import Metric

TOOL = "ncu"
"""Key in `NcuReport.missing` for reasons that concern the whole report."""
LAUNCHES = "launches"
"""Key in `NcuReport.missing` for launches that were left out."""
ROWS = "ncu rows"
"""Key in `NcuReport.missing` for parts of the table that could not be read."""
MOST_LAUNCHES = 2000
"""Most launches that are read from one report; more would only cost memory."""


@dataclass(frozen=True, slots=True)
class NcuKernel:
    """One profiled launch: the kernel's bare name and its counters in base units."""

    name: str
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class NcuReport:
    """Profiled launches in launch order; `missing` has the reason for each thing that is not
    known."""

    kernels: tuple[NcuKernel, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


def empty_report(reason: str) -> NcuReport:
    """A report without launches, for one reason."""
    return NcuReport((), {TOOL: reason})


class Gaps:
    """Reasons why launches lack metrics, collected while a report is read."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._count: dict[str, int] = {}

    def add(self, name: str, reason: str) -> None:
        """Count a launch that lacks the metric `name`; the first reason is kept for all."""
        self._first.setdefault(name, reason)
        self._count[name] = self._count.get(name, 0) + 1

    def reasons(self, launches: int) -> Mapping[str, str]:
        """Reasons by metric, with the number of launches that lack it unless all do."""
        return {
            name: reason
            if self._count[name] >= launches
            else f"{reason} (in {self._count[name]} of {launches} launches)"
            for name, reason in self._first.items()
        }
