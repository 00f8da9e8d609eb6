"""Intervals of a mean over tasks and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 2000
_TAIL = 2.5
FEW_TASKS = 6
"""Below so many tasks an interval over tasks covers less than it says: 3 tasks can be resampled in
10 ways only."""


class Spread(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def hierarchical(by_task: Sequence[Floats], *, seed: int) -> Spread:
    """The mean over tasks of the mean over seeds; tasks are resampled, then seeds within each.

    Percentile bootstrap of both levels (Davison and Hinkley, Bootstrap Methods and their
    Application, 1997, section 3.8): it speaks about tasks like these.
    """
    return _bootstrap(by_task, seed=seed, tasks_too=True)


def within_tasks(by_task: Sequence[Floats], *, seed: int) -> Spread:
    """The same mean; only seeds are resampled: it speaks about these very tasks."""
    return _bootstrap(by_task, seed=seed, tasks_too=False)


def _bootstrap(by_task: Sequence[Floats], *, seed: int, tasks_too: bool) -> Spread:
    generator = np.random.default_rng(seed)
    count = len(by_task)
    sizes = np.array([len(values) for values in by_task])
    table = np.zeros((count, sizes.max()))
    for at, values in enumerate(by_task):
        table[at, : len(values)] = values
    shape = (RESAMPLES, count)
    tasks = np.broadcast_to(np.arange(count), shape)
    if tasks_too:
        tasks = generator.integers(count, size=shape)
    total = np.zeros(RESAMPLES)
    for slot in range(count):
        # Every slot of a resample holds a task, and of that task as many seeds as it has.
        size = sizes[tasks[:, slot]]
        drawn = np.floor(generator.random((RESAMPLES, sizes.max())) * size[:, None]).astype(int)
        there = np.arange(sizes.max()) < size[:, None]
        picked = table[tasks[:, slot][:, None], drawn]
        total += np.where(there, picked, 0.0).sum(axis=1) / size
    mean = float(np.mean([values.mean() for values in by_task]))
    low, high = np.percentile(total / count, [_TAIL, 100 - _TAIL])
    return Spread(mean, min(mean, float(low)), max(mean, float(high)))
