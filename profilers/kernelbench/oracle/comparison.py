"""Compares outputs with what is expected, by element and by region: right or wrong, how exact.

Two questions are asked of an output.

Is it right? An element is right if |out - expected| <= absolute + relative * |expected|, or if it
is off by at most `HONEST_FACTOR` times the greatest error that an honest run of the problem's own
model makes on the same inputs, whichever allows more. Where rows are equal, tied or in order, all
terms of a sum round alike, and one that is added up term by term is off in proportion to their
number, not to its root: 18 times as far as one in 16 parts, 4096 terms deep. So float32 may be off
there by `ALIKE_FACTOR` times that error, but not by more than `ALIKE_SHARE` of the output's scale,
which orders of summation do not come to and other mistakes do. NaN and infinities are right only
where the same is expected.

Was it computed in the precision that the task asks for? The root mean square error, over all of an
output and over each of 64 regions of it, is divided by that of the honest run; `error_ratio` is
the greatest quotient. Float32 sums in another order, with other splits, fused or not, stay within
a factor of ten of each other. Inside of a product of zero-mean matrices over K terms, TF32 errs by
about 3e-4 of the result and float32, added up term by term, by 1.7e-8 * sqrt(K): a factor of
17,000 / sqrt(K), and eight times as much for bfloat16. With k = 64, TF32 is told apart up to
K = 70,000, bfloat16 up to K in the millions. Where all terms have one sign, errors of rounded
inputs cancel and no such factor exists, nor does it matter; that is why inputs are also drawn with
both signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from profilers.kernelbench.oracle.region_stats import RegionStats, region_size, region_stats, rms_of

HONEST_FACTOR = 8.0
"""How many times the honest run's greatest error an element may be off, besides the tolerance."""
ALIKE_FACTOR = 64.0
ALIKE_SHARE = 2.0**-11  # what an operand loses when it is rounded to TF32
_STEADY = 0.125  # a region's honest error counts as at least this share of the whole's
_LUCK = 16.0
_CACHED = 2**22  # elements


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of an honest run: root mean square overall and by region, greatest, wrong integers."""

    rms: float
    max: float
    regions: tuple[float, ...]
    wrong: int = 0

    @classmethod
    def of(cls, got: Any, expected: Any) -> Errors:
        """The errors of `got` against `expected`, over elements that are finite in both."""
        rows = list(region_stats(got, expected))
        return cls(
            rms=rms_of(rows),
            max=max((row.max_error for row in rows), default=0.0),
            regions=tuple(rms_of([row]) for row in rows),
            wrong=sum(row.mismatches for row in rows),
        )

    def at_least(self, other: Errors) -> Errors:
        """The greater of both, overall and by region."""
        pairs = zip(self.regions, other.regions, strict=False)
        return replace(
            self,
            rms=max(self.rms, other.rms),
            max=max(self.max, other.max),
            regions=tuple(max(pair) for pair in pairs),
        )


@dataclass(frozen=True, slots=True)
class ExpectedLeaf:
    """One output tensor as it should be; `values` are wider than `dtype` if that is a float.

    `scale` is their root mean square, `honest` the errors of the problem's own model. `alike` says
    that the terms of its sums may all round alike.
    """

    path: str
    values: Any
    dtype: Any
    honest: Errors
    scale: float
    alike: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(extent) for extent in self.values.shape)

    @property
    def floor(self) -> float:
        """Half a unit in the last place of `dtype` at the output's scale, or more.

        A small error may be due to chance, so the fewer the elements, the more is allowed.
        """
        half_ulp = half_ulp_at(self.scale, self.dtype)
        return half_ulp * (1 + _LUCK / math.sqrt(max(1, self.values.numel())))


def half_ulp_at(value: float, dtype: Any) -> float:
    """Half the distance between neighbours of `dtype` near `value`; 0 for integers."""
    import torch

    if not dtype.is_floating_point and not dtype.is_complex:
        return 0.0
    facts = torch.finfo(dtype)
    if not math.isfinite(value) or value < facts.tiny:
        return float(facts.tiny)
    return float(facts.eps) / 2 * 2.0 ** math.floor(math.log2(value))


def scale_of(values: Any) -> float:
    """Root mean square of the finite elements, without a float64 copy of all of them."""
    import torch

    flat = torch.view_as_real(values) if values.is_complex() else values
    total, count = 0.0, 0
    for part in flat.reshape(-1).split(2**26):
        squares = float(_sum_of_squares(part))
        if math.isfinite(squares):
            total, count = total + squares, count + part.numel()
            continue
        finite = part.isfinite()
        total += float(_sum_of_squares(torch.where(finite, part, 0)))
        count += int(finite.sum())
    return (total / count) ** 0.5 if count else 0.0


def _sum_of_squares(part: Any) -> Any:
    import torch

    part = part if part.is_floating_point() else part.double()
    return torch.linalg.vector_norm(part, dtype=torch.float64).square()


def compare_leaf(
    got: Any, leaf: ExpectedLeaf, *, relative: float, absolute: float
) -> dict[str, Any]:
    """The JSON of one comparison; `got` has the shape and the dtype that `leaf` has.

    `max_error` and `worst_ratio` are None if an
    element is no number and should be, or the reverse; `error_ratio` and `error_share`, the root
    mean square error over the output's own, are None for integers.
    """
    honest = leaf.honest
    slack = _slack(leaf, honest.max)

    def allowed(wide: Any) -> Any:
        return (absolute + relative * wide.abs()).clamp_(min=slack)

    rows = list(region_stats(got, leaf.values, allowed))
    exact = not _is_inexact(leaf.dtype)
    mismatches = sum(row.mismatches for row in rows)
    if exact and mismatches <= HONEST_FACTOR * honest.wrong:
        mismatches = 0
    kinds = sum(row.kinds for row in rows)
    elements = got.numel()
    answer: dict[str, Any] = {
        "path": leaf.path,
        "elements": elements,
        "mismatches": mismatches,
        "share": mismatches / elements if elements else 0.0,
        "nans": sum(row.nans for row in rows),
        "max_error": None if kinds else _finite(max((row.max_error for row in rows), default=0.0)),
        "worst_ratio": None,
        "error_ratio": None if exact or kinds else _finite(_error_ratio(rows, honest, leaf.floor)),
        "error_share": None if exact or kinds else _finite(rms_of(rows) / (leaf.scale or math.inf)),
        "first": None,
        "got": None,
        "expected": None,
        "region": None,
    }
    if not kinds and not (exact and honest.wrong):
        worst = max((row.worst_ratio for row in rows), default=0.0)
        answer["worst_ratio"] = worst if math.isfinite(worst) else None
    if mismatches:
        answer |= _first_wrong(got, leaf, rows)
        answer["region"] = where_wrong([row.mismatches for row in rows], elements)
    return answer


def _slack(leaf: ExpectedLeaf, honest: float) -> float:
    """How far an element may be off by the greatest error of an honest run."""
    usual = HONEST_FACTOR * honest
    if not leaf.alike or not leaf.dtype.is_floating_point or leaf.dtype.itemsize < 4:
        return usual
    return max(usual, min(ALIKE_FACTOR * honest, ALIKE_SHARE * leaf.scale))


def close_everywhere(got: Any, wanted: Any, *, relative: float, absolute: float) -> bool:
    """Whether every element is within the tolerance; a quick check in the tensors' own dtype.

    Outputs that fail it are compared again by `compare_leaf`.
    """
    import torch

    if not _is_inexact(got.dtype):
        return bool(torch.equal(got, wanted))
    # Parts are small enough to stay in L2 from one operation to the next.
    pairs = zip(got.reshape(-1).split(_CACHED), wanted.reshape(-1).split(_CACHED), strict=True)
    beyond = [
        torch.sub(part, other).abs().sub_(other.abs(), alpha=relative).amax()
        for part, other in pairs
    ]
    if not beyond or bool((torch.stack(beyond) <= absolute).all()):
        return True
    parts = zip(got.reshape(-1).split(2**28), wanted.reshape(-1).split(2**28), strict=True)
    return all(
        torch.allclose(part, other, rtol=relative, atol=absolute, equal_nan=True)
        for part, other in parts
    )


def agreement(path: str, elements: int) -> dict[str, Any]:
    """The JSON of a comparison that passed the quick check, without figures."""
    return {
        "path": path, "elements": elements, "mismatches": 0, "share": 0.0, "nans": 0,
        "max_error": None, "worst_ratio": None, "error_ratio": None, "error_share": None,
        "first": None, "got": None, "expected": None, "region": None,
    }  # fmt: skip


def where_wrong(mismatches: Sequence[int], elements: int) -> str | None:
    """In which part of an output the wrong elements lie; None if they lie all over it."""
    regions = len(mismatches)
    wrong = [index for index, count in enumerate(mismatches) if count]
    if regions < 2 or not wrong:
        return None
    first, last = wrong[0], wrong[-1]
    if last - first + 1 > regions // 2:
        return None if len(wrong) > regions // 2 else f"in {len(wrong)} of {regions} regions"
    size = region_size(elements)
    begin, end = first * size, min((last + 1) * size, elements)
    share = 100 * (end - begin) / elements
    if last == regions - 1:
        return f"only in the last {share:.3g} %"
    if first == 0:
        return f"only in the first {share:.3g} %"
    return f"only between {100 * begin / elements:.3g} % and {100 * end / elements:.3g} %"


def _error_ratio(rows: Sequence[RegionStats], honest: Errors, floor: float) -> float:
    """The greatest quotient of errors (rms) to the honest run's, overall and by region."""
    ratios = [rms_of(rows) / (honest.rms + floor)]
    for row, own in zip(rows, honest.regions or (honest.rms,) * len(rows), strict=False):
        ratios.append(rms_of([row]) / (max(own, _STEADY * honest.rms) + floor))
    return max(ratios)


def _first_wrong(got: Any, leaf: ExpectedLeaf, rows: Sequence[RegionStats]) -> dict[str, Any]:
    flat = next(row.first for row in rows if row.mismatches)
    shape = leaf.shape
    if leaf.values.is_complex():
        flat //= 2
    index = []
    rest = flat
    for extent in reversed(shape):
        rest, along = divmod(rest, extent)
        index.append(along)
    place = tuple(reversed(index))
    return {
        "first": str(list(place)),
        "got": _number(got[place]),
        "expected": _number(leaf.values[place]),
    }


def _finite(value: float) -> float | None:
    """`value`, or None if it is not finite, which JSON cannot express."""
    return value if math.isfinite(value) else None


def _number(value: Any) -> float | str:
    """A number, or its text if JSON cannot express it."""
    plain = value.item()
    if isinstance(plain, complex):
        return str(plain)
    return plain if math.isfinite(plain) else str(plain)


def _is_inexact(dtype: Any) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)
