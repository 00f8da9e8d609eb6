"""From a worker's numbers to the nouns: pure, so that every judgement can be tested anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcts.domain import KernelTask, Timing, Tolerance, Verification, Workload, evaluate_int
from mcts.seeding import seed_from
from profilers.ceilings import Rates, math_rate
from profilers.statistics import median_interval, speedup_paired

_HOST_FACTOR = 1.25
_HOST_OVERHEAD_US = 30.0
_FLOOR_FACTOR = 0.9
_CLOCK_SLACK = 1.001
_BOUNDED = ("fp32", "tf32", "bf16")  # fp16 may accumulate in fp16, on some boards twice as fast


def verification(
    task: KernelTask,
    checked: Sequence[tuple[Workload, Mapping[str, Any]]],
    damaged: Iterable[str] = (),
    *,
    rounds: int,
    when: str = "",
) -> Verification:
    """Summarise comparisons: each a workload with ``{"outputs": [...]}`` from a worker.

    `rounds` is the number of different cases; `when` stands before the detail.
    """
    outputs = [(workload, output) for workload, run in checked for output in run["outputs"]]
    complaints = [
        complaint(task, workload, output) for workload, output in outputs if output["mismatches"]
    ]
    complaints += [_damage(name) for name in damaged]
    errors = [output["max_error"] for _, output in outputs if output["max_error"] is not None]
    ratios = [output["worst_ratio"] for _, output in outputs]
    known = [ratio for ratio in ratios if ratio is not None]
    return Verification(
        passed=not complaints,
        rounds=rounds,
        max_error=max(errors, default=None),
        worst_ratio=max(known) if known and len(known) == len(ratios) else None,
        detail=when + "; ".join(complaints) if complaints else "",
    )


def complaint(task: KernelTask, workload: Workload, output: Mapping[str, Any]) -> str:
    """One line on a wrong output: how much, where first, and what stood there."""
    buffer = next(item for item in task.outputs if item.name == output["name"])
    index = unravel(output["first"], buffer.extents(workload.shape))
    text = (
        f"{workload.name}: {output['mismatches']} of {output['elements']} elements of "
        f"{buffer.name} wrong; first at {list(index)}"
    )
    if "got" in output:
        text += (
            f": got {_number(output['got'])}, expected {_number(output['expected'])} "
            f"({_allowed(task.tolerance)})"
        )
    if output["nans"]:
        text += f"; {output['nans']} NaN"
        if output["nans"] == output["mismatches"]:
            text += " (outputs and workspaces start as NaN: never written?)"
    return text


def unravel(index: int, extents: Sequence[int]) -> tuple[int, ...]:
    """The position of a flat row-major `index` in an array of `extents`."""
    position = []
    for extent in reversed(extents):
        index, along = divmod(index, extent)
        position.append(along)
    return tuple(reversed(position))


def timing(candidate_id: str, answer: Mapping[str, Any]) -> Timing:
    """The timing noun from a worker's samples; the bootstrap is seeded by the candidate."""
    before, after = answer["baseline_us"], answer["candidate_us"]
    seed = seed_from("timing", candidate_id)
    own = median_interval(after, seed)
    base = median_interval(before, seed)
    speedup = speedup_paired(before, after, seed)
    return Timing(
        median_us=own.point,
        low_us=own.low,
        high_us=own.high,
        baseline_us=base.point,
        speedup=speedup.point,
        speedup_low=speedup.low,
        speedup_high=speedup.high,
        rounds=len(after),
        host_us=answer["batch"]["host_us"] / answer["batch"]["calls"],
        samples_us=tuple(after),
        baseline_samples_us=tuple(before),
    )


def floor_us(task: KernelTask, rates: Rates, l2_bytes: int) -> float:
    """The least time the task can take on this device, from its cost over measured rates.

    One L2 of outputs may still be on its way to memory when a call ends, and is not counted.
    """
    if task.cost is None:
        return 0.0
    shape = task.timed_workload.shape
    moved = max(0, evaluate_int(task.cost.bytes, shape) - l2_bytes)
    memory = moved / max(rates.copy_gb_per_s, rates.read_gb_per_s) / 1e3
    rate = math_rate(rates, task.cost.math) if task.cost.math in _BOUNDED else None
    if rate is None:
        return memory
    return max(memory, evaluate_int(task.cost.flops, shape) / rate / 1e6)


def why_suspect(answer: Mapping[str, Any], time_us: float, least_us: float) -> str | None:
    """Why a timing cannot be believed, or None where it can."""
    batch = answer["batch"]
    host, event, calls = batch["host_us"], batch["event_us"], batch["calls"]
    if host > _HOST_FACTOR * event + _HOST_OVERHEAD_US:
        return (
            f"the clocks disagree: {calls} calls took {host:.0f} us by the host's clock, "
            f"{event:.0f} us between CUDA events"
        )
    if event > _CLOCK_SLACK * host + 1.0:
        return f"CUDA events count {event:.0f} us within {host:.0f} us of the host's clock"
    if time_us < _FLOOR_FACTOR * least_us:
        return (
            f"{time_us:.4g} us is faster than this device can do the task's own work "
            f"({least_us:.4g} us from its cost and the measured ceilings)"
        )
    return None


def _damage(name: str) -> str:
    if name.startswith("input"):
        return f"{name} was changed by the kernel; inputs are read-only"
    return f"{name} was overwritten: a store past the end of a buffer"


def _allowed(tolerance: Tolerance) -> str:
    return f"tolerance {tolerance.absolute:g} + {tolerance.relative:g} * |expected|"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"
