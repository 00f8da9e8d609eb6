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
TF32_FACTOR = 4.0
"""The same where TF32 is allowed, of the error that operands rounded to TF32 make, on inputs of
both signs. Operands that are truncated, as the hardware does, come to 2.7; bfloat16 to 8, sums in
half precision to 4 at a depth of 1,000 and 8 at 4,000
(`experiments.benchmarks.evidence.tf32_errors`, on an H200). On inputs of one sign truncation alone
comes to 50.
"""
_FEW = 32
_FEW_FACTOR = 16.0  # the error of a handful of elements is a matter of luck
_MANTISSA = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
_LEAST_EXPONENT = {"float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126}

Compared = tuple[str, Mapping[str, Any]]
"""A workload's name and the errors of one run, ``{"outputs": [...], "honest": [...]}``."""


@dataclass(frozen=True, slots=True)
class Excess:
    """An error against what is allowed, of one region of an output or of all of it.

    `ratio` is the candidate's root mean square error over the honest one, `limit` the most it may
    be. `wanted` is the root mean square of the expected values.
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
            f"{self.ratio:.0f} times what honest arithmetic makes of the same inputs "
            f"({self.honest:.3g}); at most {self.limit:.0f} times is taken for rounding"
        )


def worst_excess(runs: Iterable[Compared], *, factor: float = FACTOR) -> Excess | None:
    """The worst output and region over all runs; None if there is nothing to compare.

    The runs of one workload are pooled, so that one lucky case of the baseline does not set the
    bar. `factor`: how many times the honest error is accepted.
    """
    found = [
        excess
        for (_, name), held in _pooled(runs, factor=factor).items()
        for excess in held.excesses(name)
    ]
    return max(found, key=lambda excess: excess.share, default=None)


def whole_errors(runs: Iterable[Compared]) -> list[tuple[str, Excess]]:
    """The error of every output as a whole, by workload, pooled likewise."""
    pooled = _pooled(runs, factor=FACTOR)
    return [(workload, held.whole(name)) for (workload, name), held in pooled.items()]


def timed_runs(
    workload: str, timed: Sequence[Mapping[str, Any]], checked: Iterable[Mapping[str, Any]]
) -> list[Compared]:
    """Runs of timed outputs, whose errors are against the baseline's own outputs.

    The honest errors are those of the verified runs `checked` of the same workload: a candidate
    that is exact only while it is verified has a larger error than both together.
    """
    outputs = [_one_round(output) for output in timed]
    return [
        (workload, {"outputs": outputs, "honest": run["honest"]})
        for run in checked
        if run.get("honest")
    ]


def _pooled(runs: Iterable[Compared], *, factor: float) -> dict[tuple[str, str], _Sums]:
    """Sums by workload and output, of float outputs only."""
    sums: dict[tuple[str, str], _Sums] = {}
    for workload, run in runs:
        for output, honest in zip(run["outputs"], run.get("honest", ()), strict=False):
            if output["dtype"] in _MANTISSA:
                key = (workload, output["name"])
                sums.setdefault(key, _Sums.of(output, factor=factor)).add(output, honest)
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
    factor: float
    runs: int
    error: list[float]
    honest: list[float]
    wanted: list[float]

    @classmethod
    def of(cls, output: Mapping[str, Any], *, factor: float) -> _Sums:
        count = len(output["square_error"])
        return cls(
            output["elements"], output["dtype"], output["expected_dtype"], factor, 0,
            [0.0] * count, [0.0] * count, [0.0] * count,
        )  # fmt: skip

    def add(self, output: Mapping[str, Any], honest: Mapping[str, Any]) -> None:
        self.runs += 1
        for total, more in (
            (self.error, output["square_error"]),
            (self.honest, honest["square_error"]),
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

        wanted = rms(self.wanted)
        floor = half_ulp(self.dtype, self.expected_dtype, wanted)
        honest = max(rms(self.honest), floor)
        limit = self.factor if count >= _FEW else self.factor * _FEW_FACTOR
        error = rms(self.error)
        return Excess(name, error / honest, limit, error, honest, wanted, region)
