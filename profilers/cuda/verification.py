"""From a worker's comparisons to a `Verification`, and to words on what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcts.domain import KernelTask, Verification, Workload
from profilers.launching.precision import FACTOR, Excess
from profilers.measuring.rounding import unrelated


def verification_of(
    task: KernelTask,
    checked: Sequence[tuple[Workload, Mapping[str, Any]]],
    damaged: Iterable[str] = (),
    *,
    excess: Excess | None = None,
) -> Verification:
    """Summarise comparisons: each a workload with ``{"outputs": [...]}`` from a worker.

    A run's `label` says how its inputs differ from the task's own. `excess` is the output and
    region whose error is largest compared with the honest one.
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

    There its outputs were compared with the baseline's, on inputs drawn for that call alone:
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
    """Why outputs are wrong although they are within a tolerance wider than themselves; or None.

    `errors` are those of whole outputs by workload. Even with few elements no allowance is made
    for chance: an honest error may be small by chance, but never as large as the output.
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
    """One line on a wrong output: how many elements, the first of them, and its value."""
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
            f"({_allowed(task)})"
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


def _damage(name: str) -> str:
    if name.startswith("input"):
        return f"{name} was changed by the kernel; inputs are read-only"
    return f"{name} was overwritten: a store past the end of a buffer"


def _allowed(task: KernelTask) -> str:
    bounds = task.tolerance
    more = ", more where TF32 errs more" if any(buffer.tf32 for buffer in task.inputs) else ""
    return f"tolerance {bounds.absolute:g} + {bounds.relative:g} * |expected|{more}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"
