"""Anytime curves: the speedup of each arm after so many unique evaluations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.studies.cell import CellResult
from experiments.benchmarks.studies.comparing import Runs, runs_of
from experiments.benchmarks.studies.folder import Plan
from experiments.benchmarks.studies.recorded_task import TaskFacts
from mcts.domain import Noun

Floats = NDArray[np.float64]
RANDOM = "random search, expected"


class Curve(Noun):
    """Median and quartiles over seeds after 1, 2, 3 ... unique evaluations; speedups over the
    baseline, or shares of the best recorded speedup.
    """

    arm: str
    median: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Chart(Noun):
    """The arms on one task, or over all if `task` is empty, with the optimum and the budget."""

    task: str
    curves: tuple[Curve, ...]
    optimum: float
    target: float | None = None
    budget: int | None = None


def charts(plan: Plan, lines: Iterable[CellResult]) -> tuple[Chart, ...]:
    """One over all tasks, if there are several and an arm has a seed on all of them, and one per
    task.
    """
    runs = runs_of(plan, lines)
    single = tuple(_of_task(plan, runs, facts) for facts in plan.tasks)
    overall = _overall(plan, runs)
    return (overall, *single) if len(single) > 1 and overall.curves else single


def _of_task(plan: Plan, runs: Runs, facts: TaskFacts) -> Chart:
    curves = []
    for arm in plan.study.arms:
        lines = runs.get((arm, facts.name), {})
        if lines:
            curves.append(_curve(arm, np.array([_steps(x, facts) for x in lines.values()])))
    if facts.expected_random_us is not None:
        expected = facts.baseline_us / np.array(facts.expected_random_us)
        curves.append(Curve(arm=RANDOM, median=tuple(np.maximum(expected, 1.0).tolist())))
    return Chart(
        task=facts.name,
        curves=tuple(curves),
        optimum=facts.best,
        target=facts.target,
        budget=facts.budget,
    )


def _overall(plan: Plan, runs: Runs) -> Chart:
    """Geometric mean over the tasks of the share of the best recorded speedup, seed by seed."""
    shortest = min(facts.length for facts in plan.tasks)
    curves = []
    for arm in plan.study.arms:
        of_arm = [(facts, runs.get((arm, facts.name), {})) for facts in plan.tasks]
        seeds = set.intersection(*(set(lines) for _, lines in of_arm))
        if not seeds:
            continue
        logs = np.mean(
            [
                [
                    np.log(np.array(_steps(lines[seed], facts)[:shortest]) / facts.best)
                    for seed in sorted(seeds)
                ]
                for facts, lines in of_arm
            ],
            axis=0,
        )
        curves.append(_curve(arm, np.exp(logs)))
    return Chart(task="", curves=tuple(curves), optimum=1.0)


def _steps(line: CellResult, facts: TaskFacts) -> list[float]:
    return [line.speedup_at(count) for count in range(1, facts.length + 1)]


def _curve(arm: str, by_seed: Floats) -> Curve:
    low, median, high = np.percentile(by_seed, [25, 50, 75], axis=0)
    return Curve(
        arm=arm, median=tuple(median.tolist()), low=tuple(low.tolist()), high=tuple(high.tolist())
    )
