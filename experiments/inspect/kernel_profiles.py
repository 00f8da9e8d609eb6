"""Kernel profiles from the runs of a timeline or the launches of a report, longest first."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcts.domain import DURATION, KernelProfile, Metric
from mcts.domain import metrics as m

if TYPE_CHECKING:
    from profilers.ncu import NcuKernel
    from profilers.timeline.activities import Activity


def timed_kernels(activities: Iterable[Activity]) -> list[KernelProfile]:
    """A kernel per name, the longest in all first, with how often it ran.

    Its duration is the median of its runs, as the timeline has it; no other counter is known.
    """
    from profilers.timeline import kernel_times

    times = {name: runs for name, runs in kernel_times(activities).items() if runs}
    return [
        KernelProfile(
            name=name,
            launches=len(times[name]),
            metrics={DURATION: Metric(value=statistics.median(times[name]) * 1e3, unit="ns")},
        )
        for name in sorted(times, key=lambda name: -sum(times[name]))
    ]


def distinct_kernels(launches: Iterable[NcuKernel]) -> list[KernelProfile]:
    """Launches of one kernel with one grid and block as one, the longest in all first.

    The counters are those of the launch of median duration.
    """
    groups: dict[tuple[str, float, float], list[NcuKernel]] = {}
    for launch in launches:
        key = (launch.name, _value(launch, m.GRID), _value(launch, m.BLOCK))
        groups.setdefault(key, []).append(launch)
    kernels = []
    for (name, _, _), group in groups.items():
        ordered = sorted(group, key=lambda launch: _value(launch, m.DURATION))
        middle = ordered[len(ordered) // 2]
        kernels.append(KernelProfile(name=name, launches=len(group), metrics=middle.metrics))
    return sorted(kernels, key=lambda kernel: -(kernel.total_us or 0.0))


def _value(launch: NcuKernel, metric: str) -> float:
    found: Metric | None = launch.metrics.get(metric)
    return found.value if found is not None else 0.0
