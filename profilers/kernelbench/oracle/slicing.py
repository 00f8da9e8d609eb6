"""Whether a model treats the rows of its batch independently, so that it can run in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from profilers.kernelbench.shared.problem import ProblemFault
from profilers.kernelbench.shared.trees import mapped, tensors

_PROBE_ROWS = 4
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Rows along the leading axis, and which tensors of the inputs have them (all, if None)."""

    rows: int
    sliced: frozenset[str] | None

    def for_output(self) -> BatchPlan:
        return replace(self, sliced=None)


def plan_batch(run: Callable[[Any], Any], inputs: Any, output: Any) -> BatchPlan | None:
    """How to compute `output` row by row; None if rows depend on one another.

    Tried on a few rows: the two halves must give what all of them give together. Every input with
    the batch as leading extent is sliced; if that fails, only the first of them.
    """
    leading = {int(tensor.shape[0]) if tensor.dim() else 0 for _, tensor in tensors(output)}
    if len(leading) != 1:
        return None
    rows = leading.pop()
    if rows < 2:
        return None
    paths = [path for path, one in tensors(inputs) if one.dim() and int(one.shape[0]) == rows]
    choices: Sequence[Sequence[str]] = (paths, paths[:1]) if len(paths) > 1 else (paths,)
    for chosen in choices:
        plan = BatchPlan(rows=rows, sliced=frozenset(chosen))
        if chosen and _holds(run, inputs, plan):
            return plan
    return None


def rows_of(value: Any, plan: BatchPlan, begin: int, end: int) -> Any:
    """`value` with rows `begin` to `end` of every tensor that the plan slices."""
    order = iter(tensors(value))

    def cut(tensor: Any) -> Any:
        path, _ = next(order)
        return tensor[begin:end] if plan.sliced is None or path in plan.sliced else tensor

    return mapped(value, cut)


def _holds(run: Callable[[Any], Any], inputs: Any, plan: BatchPlan) -> bool:
    probe = min(_PROBE_ROWS, plan.rows)
    half = probe // 2
    try:
        together = run(rows_of(inputs, plan, 0, probe))
        apart = [run(rows_of(inputs, plan, a, b)) for a, b in ((0, half), (half, probe))]
    except ProblemFault as fault:
        if fault.sticky:
            raise
        return False
    for (path, whole), (_, first), (_, second) in zip(
        tensors(together), tensors(apart[0]), tensors(apart[1]), strict=True
    ):
        if not path.startswith("[") and path:
            return False
        if not _stacked(whole, first, second, half, probe):
            return False
    return True


def _stacked(whole: Any, first: Any, second: Any, half: int, probe: int) -> bool:
    shapes = [tuple(tensor.shape[1:]) for tensor in (whole, first, second)]
    rows = [int(tensor.shape[0]) if tensor.dim() else 0 for tensor in (whole, first, second)]
    if rows != [probe, half, probe - half] or len(set(shapes)) > 1:
        return False
    scale = _greatest(whole)
    return all(
        _greatest(_difference(whole[a:b], part)) <= _SAME * scale
        for part, a, b in ((first, 0, half), (second, half, probe))
    )


def _difference(first: Any, second: Any) -> Any:
    import torch

    kinds = (first.isnan() != second.isnan()) | (first.isinf() & (first != second))
    error = torch.where(first.isfinite() & second.isfinite(), first - second, 0.0)
    return torch.where(kinds, torch.inf, error.abs().double())


def _greatest(tensor: Any) -> float:
    import torch

    if not tensor.numel():
        return 0.0
    values = tensor.double().abs()
    return float(torch.where(values.isnan(), 0.0, values).max())
