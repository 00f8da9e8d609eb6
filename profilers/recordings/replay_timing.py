"""Timings from recorded times, of one workload or of several, weighted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from mcts.domain import KernelTask, Timing
from mcts.domain.evaluation import ShapeTiming
from mcts.statistics import median_interval, speedup_unpaired
from profilers.measuring.weighted import Samples, timing_of_all, weighted_unpaired
from profilers.recordings.recording import RecordedConfiguration

Times = tuple[float, ...]


def replayable_weights(task: KernelTask, baseline: RecordedConfiguration) -> dict[str, float]:
    """The weights of the shapes that can be replayed; empty if that is only the heaviest one.

    They are those of the task, which may have changed since, except for a recording that is a task
    by itself.
    """
    recorded = {shape.workload: shape.weight for shape in baseline.shapes}
    if not task.dialect.has_source:
        return {name: weight / sum(recorded.values()) for name, weight in recorded.items()}
    several = len(task.weights) > 1 and task.weights.keys() <= recorded.keys()
    return task.weights if several else {}


def times_by_workload(record: RecordedConfiguration) -> dict[str, Times]:
    return {shape.workload: shape.runtimes_us for shape in record.shapes}


def weighted_timing(
    task: KernelTask,
    weights: Mapping[str, float],
    drawn: Mapping[str, tuple[Times, Times]],
    *,
    host_us: float | None,
    seed: int,
) -> Timing:
    """The timing of several workloads; `drawn` are the baseline's and the candidate's times."""
    shapes = tuple(
        ShapeTiming(workload=name, weight=weight, **latency_fields(*drawn[name], seed=seed))
        for name, weight in weights.items()
    )
    samples = [Samples(weights[name], [before], [after]) for name, (before, after) in drawn.items()]
    return timing_of_all(task, weighted_unpaired(samples, seed), shapes, host_us=host_us)


def latency_fields(before: Times, after: Times, *, seed: int) -> dict[str, Any]:
    """The fields that the timing of one workload and that of all workloads have in common."""
    time = median_interval(after, seed=seed)
    speedup = speedup_unpaired(before, after, seed=seed)
    return {
        "median_us": time.point,
        "low_us": time.low,
        "high_us": time.high,
        "baseline_us": statistics.median(before),
        "speedup": speedup.point,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "rounds": len(after),
        "samples_us": after,
        "baseline_samples_us": before,
    }
