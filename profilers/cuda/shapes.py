"""What was measured on each timed workload, brought together into one timing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcts.domain import KernelTask, Timing, Workload
from mcts.domain.evaluation import ShapeTiming
from mcts.search.seeding import seed_from
from profilers.cuda import verdict
from profilers.measuring.clocks import Clocks
from profilers.measuring.weighted import Samples, timing_of_all, weighted_blocked


class Measured(NamedTuple):
    """One timed workload: a worker's blocks, and the clocks over batches of calls."""

    workload: Workload
    answer: Mapping[str, Any]
    clocks: Clocks


def timing_of(task: KernelTask, candidate_id: str, measured: Sequence[Measured]) -> Timing:
    """The timing of a candidate: of its only shape, or the weighted latency of several."""
    if len(measured) == 1:
        return verdict.timing(candidate_id, measured[0].answer, measured[0].clocks)
    seed, weights = seed_from("timing", candidate_id), task.weights
    shapes = tuple(
        ShapeTiming(
            workload=one.workload.name,
            weight=weights[one.workload.name],
            **verdict.latency(one.answer, one.clocks, seed=seed),
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
    """Why a timing cannot be believed, on the first workload where it cannot; None where it can.

    `floors_us` has the least believable time by workload.
    """
    for one, latency in zip(measured, timing.shapes or (timing,), strict=True):
        floor = floors_us.get(one.workload.name, 0.0)
        reason = verdict.why_suspect(one.clocks, latency.median_us, floor)
        if reason is not None:
            return reason if len(measured) == 1 else f"workload {one.workload.name}: {reason}"
    return None
