"""Anytime curves of runs: the best so far against unique evaluations, a band for several runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.benchmarks.comparing.nouns import RunComparison
from experiments.benchmarks.comparing.runs import ComparedRun
from experiments.benchmarks.studies.curves import Chart, Curve


def charts(found: RunComparison) -> tuple[Chart, ...]:
    """A chart for each task; its optimum is the best that any run of the task measured."""
    return tuple(chart for task in found.tasks if (chart := _chart(found, task)) is not None)


def _chart(found: RunComparison, task: str) -> Chart | None:
    curves = [
        _curve(arm, runs)
        for arm in found.arms
        if (runs := [run for run in found.of(arm, task) if run.best_so_far])
    ]
    if not curves:
        return None
    best = max(
        run.best_so_far[-1] for entry in found.entries if entry.task == task
        for run in [entry.run] if run.best_so_far
    )  # fmt: skip
    return Chart(task=task, curves=tuple(curves), optimum=best)


def _curve(arm: str, runs: Sequence[ComparedRun]) -> Curve:
    """Median and quartiles over the runs; a run that ended earlier keeps its last value."""
    length = max(len(run.best_so_far) for run in runs)
    steps = np.array(
        [
            [*run.best_so_far, *[run.best_so_far[-1]] * (length - len(run.best_so_far))]
            for run in runs
        ]
    )
    low, median, high = np.percentile(steps, [25, 50, 75], axis=0)
    if len(runs) == 1:
        return Curve(arm=arm, median=tuple(median.tolist()))
    return Curve(
        arm=arm, median=tuple(median.tolist()), low=tuple(low.tolist()), high=tuple(high.tolist())
    )
