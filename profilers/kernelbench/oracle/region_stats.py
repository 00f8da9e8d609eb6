"""Differences between two tensors, counted region by region in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

REGIONS = 64
_LEAST_REGION = 256  # elements: fewer say little about a root mean square
_AT_ONCE = 2**24  # elements: all regions of so many are compared in one go
_NEAR_WRONG = 0.999  # of the bound: float32 cannot tell on which side of it an error lies


@dataclass(frozen=True, slots=True)
class RegionStats:
    """Statistics of one region; `first` is the flat index of its first wrong element."""

    elements: int
    first: int
    mismatches: int
    kinds: int
    nans: int
    max_error: float
    worst_ratio: float
    squares: float


def region_stats(
    got: Any, expected: Any, allowed: Callable[[Any], Any] | None = None
) -> Iterator[RegionStats]:
    """Statistics region by region; of a large tensor one region at a time is held in float64.

    `allowed` computes from the expected values how far elements may be off. Without it only the
    errors are computed, and no finite float counts as wrong.

    Floats are compared quickly first; regions in which that finds more than small, finite errors
    are compared again in full. Nothing waits for the device before all regions are enqueued.
    """
    import torch

    got, expected = _flat(got), _flat(expected)
    count = got.numel()
    if not count:
        return
    size = region_size(count)
    if count <= _AT_ONCE:
        parts = [(_padded(got, size), _padded(expected, size))]
    else:
        parts = [
            (part[None], wide[None])
            for part, wide in zip(got.split(size), expected.split(size), strict=True)
        ]
    look = _quick_stats if got.is_floating_point() else _full_stats
    found = torch.cat([look(part, wide, allowed) for part, wide in parts]).tolist()
    if look is _quick_stats and not all(map(_quick_suffices, found)):
        found = _with_full_stats(parts, found, allowed)
    for begin, row in zip(range(0, count, size), found, strict=True):
        wrong, first, kinds, nans, error, ratio, squares = row
        yield RegionStats(
            elements=min(size, count - begin),
            first=begin + int(first),
            mismatches=int(wrong),
            kinds=int(kinds),
            nans=int(nans),
            max_error=error,
            worst_ratio=ratio,
            squares=squares,
        )


def _quick_stats(part: Any, wide: Any, allowed: Callable[[Any], Any] | None) -> Any:
    """What `_full_stats` finds if all are finite and none is wrong, in a third of the passes.

    In the wider of both precisions, float32 at least: a float32 difference has a relative error of
    6e-8, which matters for no figure here and for no verdict that `_quick_suffices` accepts.
    """
    import torch

    part, wide = (one if one.dtype.itemsize >= 4 else one.float() for one in (part, wide))
    error = torch.sub(part, wide)
    most = torch.linalg.vector_norm(error, torch.inf, dim=1)
    squares = torch.linalg.vector_norm(error, 2, dim=1, dtype=torch.float64).square_()
    none = torch.zeros(len(error), dtype=torch.float64, device=error.device)
    worst = none if allowed is None else error.abs_().div_(allowed(wide)).amax(1)
    return torch.stack([none, none, none, none, most.double(), worst.double(), squares], dim=1)


def _quick_suffices(row: Sequence[float]) -> bool:
    """Whether quick statistics suffice: all errors finite, and none near its bound."""
    *_, most, worst, squares = row
    return worst < _NEAR_WRONG and math.isfinite(most) and math.isfinite(squares)


def _with_full_stats(
    parts: Sequence[tuple[Any, Any]],
    quick: Sequence[list[float]],
    allowed: Callable[[Any], Any] | None,
) -> list[list[float]]:
    """The rows of all `parts`, computed in full if the quick statistics do not suffice."""
    found: list[list[float]] = []
    for part, wide in parts:
        rows = quick[len(found) : len(found) + len(part)]
        found += (
            rows if all(map(_quick_suffices, rows)) else _full_stats(part, wide, allowed).tolist()
        )
    return found


def _padded(flat: Any, size: int) -> Any:
    """Regions as rows; the last one is padded with zeros on both sides, which do not differ."""
    import torch

    missing = -flat.numel() % size
    return torch.nn.functional.pad(flat, (0, missing)).view(-1, size)


def _full_stats(part: Any, wide: Any, allowed: Callable[[Any], Any] | None) -> Any:
    """The figures of a `RegionStats` for every row, as float64."""
    import torch

    if not part.is_floating_point():
        wrong = part != wide
        error = (part.double() - wide.double()).abs()
        none = torch.zeros(len(part), dtype=torch.float64, device=part.device)
        most = error.amax(1)
        found = [wrong.sum(1), wrong.to(torch.uint8).argmax(1), none, none]
        found += [most, most, error.square().sum(1)]
        return torch.stack([value.double() for value in found], dim=1)
    part, wide = part.double(), wide.double()
    numbers = part.isfinite() & wide.isfinite()
    kinds = ~numbers & ~((part == wide) | (part.isnan() & wide.isnan()))
    error = torch.where(numbers, (part - wide).abs_(), 0.0)
    bound = wide.abs() + math.inf if allowed is None else allowed(wide)
    wrong = (error > bound) | kinds
    ratio = torch.where(error > 0, error / bound, 0.0)
    found = [
        wrong.sum(1), wrong.to(torch.uint8).argmax(1), kinds.sum(1),
        (part.isnan() & ~wide.isnan()).sum(1), error.amax(1), ratio.nan_to_num(nan=0.0).amax(1),
        error.square().sum(1),
    ]  # fmt: skip
    return torch.stack([value.double() for value in found], dim=1)


def _flat(tensor: Any) -> Any:
    """Row-major elements; booleans as bytes, complex numbers as pairs."""
    import torch

    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    return tensor.contiguous().view(-1)


def region_size(elements: int) -> int:
    return max(_LEAST_REGION, -(-elements // REGIONS))


def rms_of(rows: Sequence[RegionStats]) -> float:
    elements = sum(row.elements for row in rows)
    return math.sqrt(sum(row.squares for row in rows) / elements) if elements else 0.0
