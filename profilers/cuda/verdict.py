"""From a worker's numbers to the nouns: pure, so that every judgement can be tested anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcts.domain import KernelTask, Timing, Tolerance, Verification, Workload, evaluate_int
from mcts.search.seeding import seed_from
from profilers.hardware.ceilings import Rates, math_rate
from profilers.launching.precision import FACTOR, Excess
from profilers.measuring.clocks import Clocks
from profilers.measuring.rounding import unrelated
from profilers.measuring.statistics import detectable_effect, median_blocked, speedup_blocked

_FLOOR_FACTOR = 0.9
_LEAST_US = 1e-3
_BOUNDED = ("fp32", "tf32", "bf16")  # fp16 may accumulate in fp16, on some boards twice as fast


def verification(
    task: KernelTask,
    checked: Sequence[tuple[Workload, Mapping[str, Any]]],
    damaged: Iterable[str] = (),
    *,
    excess: Excess | None = None,
) -> Verification:
    """Summarise comparisons: each a workload with ``{"outputs": [...]}`` from a worker.

    A run's `label` says what is unlike the task's own inputs. `excess` is where the error stands
    highest against an honest one.
    """
    outputs = [output for _, run in checked for output in run["outputs"]]
    complaints = [
        complaint(task, workload, output, label=run.get("label", ""))
        for workload, run in checked
        for output in run["outputs"]
        if output["mismatches"]
    ]
    complaints += [_damage(name) for name in damaged]
    errors = [output["max_error"] for output in outputs if output["max_error"] is not None]
    # On other inputs than the task's own the tolerance is another one.
    ratios = [
        output["worst_ratio"]
        for _, run in checked
        for output in run["outputs"]
        if not run.get("label")
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    return Verification(
        passed=not complaints,
        rounds=len(checked),
        max_error=max(errors, default=None),
        worst_ratio=max(known) if known and len(known) == len(ratios) else None,
        error_ratio=excess.ratio if excess is not None else None,
        detail="; ".join(complaints),
    )


def mistimed(
    task: KernelTask,
    verified: Verification,
    timed: Sequence[tuple[Workload, Mapping[str, Any]]],
    damaged: Iterable[str],
) -> Verification | None:
    """The verification of a candidate that was wrong only while it was timed; None if it was not.

    There its outputs were held against the baseline's, on content drawn for that call alone:
    `timed` has ``{"outputs": [...]}`` by workload.
    """
    complaints = [
        complaint(task, workload, output)
        for workload, answer in timed
        for output in answer["outputs"]
        if output["mismatches"]
    ]
    complaints += [_damage(name) for name in damaged]
    if not complaints:
        return None
    detail = f"while being timed: {'; '.join(complaints)}"
    return verified.model_copy(update={"passed": False, "detail": detail})


def unrelated_error(errors: Iterable[tuple[str, Excess]]) -> str | None:
    """Why outputs within a tolerance that is wider than themselves are wrong all the same.

    `errors` are those of whole outputs by workload. Luck is not reckoned with, however few the
    elements: by luck an honest error may be small, none is as large as the output.
    """
    for workload, error in errors:
        share, ratio = error.error_share, error.ratio
        if why := unrelated(
            error.output, error_share=share, error_ratio=ratio, error_factor=FACTOR
        ):
            return f"{workload}: {why}"
    return None


def complaint(
    task: KernelTask, workload: Workload, output: Mapping[str, Any], *, label: str = ""
) -> str:
    """One line on a wrong output: how much, where first, and what stood there."""
    buffer = next(item for item in task.outputs if item.name == output["name"])
    index = unravel(output["first"], buffer.extents(workload.shape))
    place = f"{workload.name} ({label})" if label else workload.name
    text = (
        f"{place}: {output['mismatches']} of {output['elements']} elements of "
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


def timing(candidate_id: str, answer: Mapping[str, Any], clocks: Clocks) -> Timing:
    """The timing noun from a worker's blocks; a bootstrap is seeded by the candidate."""
    return Timing(**latency(answer, clocks, seed=seed_from("timing", candidate_id)))


def latency(answer: Mapping[str, Any], clocks: Clocks, *, seed: int) -> dict[str, Any]:
    """The fields that the times of one workload and those of all have in common."""
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


def floor_us(
    task: KernelTask, rates: Rates, l2_bytes: int, workload: Workload | None = None
) -> float:
    """The least time a workload can take on this device, from its cost over measured rates.

    Without a `workload`, that of the heaviest.

    One L2 of outputs may still be on its way to memory when a call ends, and is not counted.
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


def why_suspect(clocks: Clocks, time_us: float, least_us: float) -> str | None:
    """Why a timing cannot be believed, or None where it can."""
    if (reason := clocks.disagreement()) is not None:
        return reason
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
