"""Whether a result is as exact as the task's precision allows.

A tolerance is generous, so a kernel that computes in a lower precision can pass it. Its root mean
square error gives it away: it is compared with that of the baseline, an honest implementation, on
the same inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

REGIONS = 64
FACTOR = 64.0
"""How many times the honest error a candidate may make: rounding differs by the order of sums and
by the function used; a step down in precision is a factor of 8 (fp16 to bf16) to 65536."""
CUT_FACTOR = 2.0
"""The same where TF32 is allowed, of the error that inputs cut to TF32 make.

A kernel that cuts what it multiplies, as tensor cores do, makes that very error in one product, and
less than twice of it in any number of products in a row, whose results between are cut as well;
bfloat16 makes it three times.
"""
_CUT_FEW = 512
"""Below so many values the error of cut inputs is a matter of luck: bfloat16 lies too near."""
_FEW = 32
_FEW_FACTOR = 16.0  # the error of a handful of elements is a matter of luck
_MANTISSA = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
_LEAST_EXPONENT = {"float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126}

Compared = tuple[str, Mapping[str, Any]]
"""A workload's name and the errors of one run, ``{"outputs": [...], "honest": [...]}``.

Where the task allows TF32, ``cut`` has those of the baseline on inputs cut to it.
"""


@dataclass(frozen=True, slots=True)
class Excess:
    """An error against what is allowed, of one region of an output or of all of it.

    `ratio` is the candidate's root mean square error over the honest one, which is that of inputs
    cut to TF32 where it is larger; `limit` is the most it may be. `wanted` is the root mean square
    of the expected values.
    """

    output: str
    ratio: float
    limit: float
    error: float
    honest: float
    wanted: float
    region: int | None

    @property
    def share(self) -> float:
        return self.ratio / self.limit

    @property
    def error_share(self) -> float:
        """The root mean square error over the output's own; 0 if all expected values are 0."""
        return self.error / self.wanted if self.wanted else 0.0

    def __str__(self) -> str:
        where = "" if self.region is None else f" in region {self.region + 1} of {REGIONS}"
        return (
            f"{self.output}{where}: a root mean square error of {self.error:.3g} is "
            f"{self.ratio:.3g} times what honest arithmetic makes of the same inputs "
            f"({self.honest:.3g}); at most {self.limit:.3g} times is taken for rounding"
        )


def worst_excess(runs: Iterable[Compared]) -> Excess | None:
    """The worst output and region over all runs; None if there is nothing to compare.

    The runs of one workload are pooled, so that one lucky case of the baseline does not set the
    bar.
    """
    found = [excess for (_, name), held in _pooled(runs).items() for excess in held.excesses(name)]
    return max(found, key=lambda excess: excess.share, default=None)


def whole_errors(runs: Iterable[Compared]) -> list[tuple[str, Excess]]:
    """The error of every output as a whole, by workload, pooled likewise."""
    pooled = _pooled(runs)
    return [(workload, held.whole(name)) for (workload, name), held in pooled.items()]


def timed_runs(
    workload: str, timed: Sequence[Mapping[str, Any]], checked: Iterable[Mapping[str, Any]]
) -> list[Compared]:
    """Runs of timed outputs, whose errors are against the baseline's own outputs.

    The honest errors are those of the verified runs `checked` of the same workload: a candidate
    that is exact only while it is verified has a larger error than both together.
    """
    outputs = [_one_round(output) for output in timed]
    return [(workload, {**run, "outputs": outputs}) for run in checked if run.get("honest")]


def _pooled(runs: Iterable[Compared]) -> dict[tuple[str, str], _Sums]:
    """Sums by workload and output, of float outputs only."""
    sums: dict[tuple[str, str], _Sums] = {}
    for workload, run in runs:
        honest = run.get("honest", ())
        for output, own, cut in zip(run["outputs"], honest, run.get("cut") or honest, strict=False):
            if output["dtype"] in _MANTISSA:
                key = (workload, output["name"])
                sums.setdefault(key, _Sums.of(output)).add(output, own, cut)
    return sums


def _one_round(output: Mapping[str, Any]) -> dict[str, Any]:
    """An output's sums over many rounds, as those of a typical one."""
    rounds = output.get("rounds", 1)
    sums = ("square_error", "square_expected")
    return {**output, **{name: [value / rounds for value in output[name]] for name in sums}}


def half_ulp(dtype: str, expected_dtype: str, magnitude: float) -> float:
    """Half the distance between neighbours of `magnitude` in the coarser of the two types."""
    mantissa = min(_MANTISSA[dtype], _MANTISSA[expected_dtype])
    exponent = _LEAST_EXPONENT[dtype]
    if magnitude > 0 and math.isfinite(magnitude):
        exponent = max(exponent, math.frexp(magnitude)[1] - 1)
    return float(2.0 ** max(exponent - mantissa - 1, -1074))


@dataclass(slots=True)
class _Sums:
    """Squares summed over the runs of a workload, by region."""

    elements: int
    dtype: str
    expected_dtype: str
    runs: int
    error: list[float]
    honest: list[float]
    cut: list[float]
    wanted: list[float]

    @classmethod
    def of(cls, output: Mapping[str, Any]) -> _Sums:
        count = len(output["square_error"])
        zeros = [[0.0] * count for _ in range(4)]
        return cls(output["elements"], output["dtype"], output["expected_dtype"], 0, *zeros)

    def add(
        self, output: Mapping[str, Any], honest: Mapping[str, Any], cut: Mapping[str, Any]
    ) -> None:
        self.runs += 1
        for total, more in (
            (self.error, output["square_error"]),
            (self.honest, honest["square_error"]),
            (self.cut, cut["square_error"]),
            (self.wanted, output["square_expected"]),
        ):
            total[:] = [a + b for a, b in zip(total, more, strict=True)]

    def excesses(self, name: str) -> Iterable[Excess]:
        share = -(-self.elements // len(self.error))
        yield self.whole(name)
        for region in range(len(self.error)):
            count = min(self.elements, share * (region + 1)) - share * region
            if count * self.runs >= _FEW:
                yield self._excess(name, region, (region,), count)

    def whole(self, name: str) -> Excess:
        return self._excess(name, None, range(len(self.error)), self.elements)

    def _excess(
        self, name: str, region: int | None, regions: Sequence[int], elements: int
    ) -> Excess:
        count = elements * self.runs

        def rms(squares: list[float]) -> float:
            return math.sqrt(sum(squares[index] for index in regions) / count)

        wanted, error, cut = rms(self.wanted), rms(self.error), rms(self.cut)
        honest = max(rms(self.honest), half_ulp(self.dtype, self.expected_dtype, wanted))
        accepted = honest * (FACTOR if count >= _FEW else FACTOR * _FEW_FACTOR)
        if cut > honest:
            accepted = max(accepted, cut * CUT_FACTOR * (1 if count >= _CUT_FEW else _FEW_FACTOR))
        base = max(honest, cut)
        return Excess(name, error / base, accepted / base, error, base, wanted, region)
