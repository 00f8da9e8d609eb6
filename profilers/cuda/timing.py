"""From a worker's blocks to a timing, and whether it can be believed. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcts.domain import KernelTask, Timing, Workload, evaluate_int
from mcts.domain.evaluation import ShapeTiming
from mcts.search.seeding import seed_from
from mcts.statistics import detectable_effect, median_blocked, speedup_blocked
from profilers.hardware.ceilings import Rates, math_rate
from profilers.measuring.clocks import Clocks
from profilers.measuring.weighted import Samples, timing_of_all, weighted_blocked

_FLOOR_FACTOR = 0.9
_LEAST_US = 1e-3
_BOUNDED = ("fp32", "tf32", "bf16")  # fp16 may accumulate in fp16, on some boards twice as fast


class Measured(NamedTuple):
    """One timed workload: a worker's blocks, and the clocks over batches of calls."""

    workload: Workload
    answer: Mapping[str, Any]
    clocks: Clocks


def timing_of(task: KernelTask, candidate_id: str, measured: Sequence[Measured]) -> Timing:
    """A candidate's timing: that of its only shape, or the weighted latency of several."""
    if len(measured) == 1:
        return workload_timing(candidate_id, measured[0].answer, measured[0].clocks)
    seed, weights = seed_from("timing", candidate_id), task.weights
    shapes = tuple(
        ShapeTiming(
            workload=one.workload.name,
            weight=weights[one.workload.name],
            **latency(one.answer, one.clocks, seed=seed),
        )
        for one in measured
    )
    whole = weighted_blocked(
        [
            Samples(
                shape.weight,
                [block["baseline_us"] for block in one.answer["blocks"]],
                [block["candidate_us"] for block in one.answer["blocks"]],
            )
            for shape, one in zip(shapes, measured, strict=True)
        ],
        seed,
    )
    host_us = math.fsum(shape.weight * (shape.host_us or 0.0) for shape in shapes)
    return timing_of_all(task, whole, shapes, host_us=host_us)


def why_suspect(
    measured: Sequence[Measured], timing: Timing, floors_us: Mapping[str, float]
) -> str | None:
    """Why a timing cannot be believed, on the first such workload; None if it can.

    `floors_us` has the least plausible time by workload.
    """
    for one, found in zip(measured, timing.shapes or (timing,), strict=True):
        floor = floors_us.get(one.workload.name, 0.0)
        reason = why_workload_suspect(one.clocks, found.median_us, floor)
        if reason is not None:
            return reason if len(measured) == 1 else f"workload {one.workload.name}: {reason}"
    return None


def workload_timing(candidate_id: str, answer: Mapping[str, Any], clocks: Clocks) -> Timing:
    """The `Timing` of a worker's blocks; the bootstrap is seeded by the candidate."""
    return Timing(**latency(answer, clocks, seed=seed_from("timing", candidate_id)))


def latency(answer: Mapping[str, Any], clocks: Clocks, *, seed: int) -> dict[str, Any]:
    """The fields that the timings of one workload and of all have in common."""
    before = [block["baseline_us"] for block in answer["blocks"]]
    after = [block["candidate_us"] for block in answer["blocks"]]
    own = median_blocked(after, seed)
    speedup = speedup_blocked(before, after, seed)
    return {
        "median_us": own.point,
        "low_us": own.low,
        "high_us": own.high,
        "baseline_us": median_blocked(before, seed).point,
        "speedup": speedup.point,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "rounds": sum(len(block) for block in after),
        "host_us": max(clocks.host_us, _LEAST_US),
        "detectable": detectable_effect(before, after),
        "samples_us": tuple(us for block in after for us in block),
        "baseline_samples_us": tuple(us for block in before for us in block),
    }


def why_workload_suspect(clocks: Clocks, time_us: float, least_us: float) -> str | None:
    """Why a timing cannot be believed, or None if it can."""
    if (reason := clocks.disagreement()) is not None:
        return reason
    if time_us < _FLOOR_FACTOR * least_us:
        return (
            f"{time_us:.4g} us is faster than this device can do the task's own work "
            f"({least_us:.4g} us from its cost and the measured ceilings)"
        )
    return None


def floor_us(
    task: KernelTask, rates: Rates, l2_bytes: int, workload: Workload | None = None
) -> float:
    """The least time in us that a workload can take: its cost over the device's measured rates.

    Without a `workload`, that of the heaviest. Outputs of the size of the L2 may still be on their
    way to memory when a call ends, and are not counted.
    """
    if task.cost is None:
        return 0.0
    shape = (workload or task.timed_workload).shape
    moved = max(0, evaluate_int(task.cost.bytes, shape) - l2_bytes)
    memory = moved / max(rates.copy_gb_per_s, rates.read_gb_per_s) / 1e3
    rate = math_rate(rates, task.cost.math) if task.cost.math in _BOUNDED else None
    if rate is None:
        return memory
    return max(memory, evaluate_int(task.cost.flops, shape) / rate / 1e6)
