"""Kernels in the profiler's report find their way back to the variants that launched them."""

from __future__ import annotations

from pathlib import Path

from mcts.domain import Metric
from profilers.calls import Call, Step
from profilers.ncu import NcuKernel, NcuReport
from profilers.profiling import ProfilingRequest, assign


def request(*kernels: str) -> ProfilingRequest:
    steps = tuple(Step(kernel=name) for name in kernels)
    return ProfilingRequest(Path("a.cubin"), Call(steps=steps), None)


def report(*kernels: str) -> NcuReport:
    return NcuReport(
        tuple(NcuKernel(name, {"m": Metric(value=i)}) for i, name in enumerate(kernels)), {}
    )


def values(launches: list[dict[str, Metric]]) -> list[float]:
    return [metrics["m"].value for metrics in launches]


def test_launches_are_dealt_out_in_order_and_strangers_skipped() -> None:
    found = assign(
        report("a", "stranger", "b", "a"),
        [{"variant": 4, "launches": 2}, {"variant": 7, "launches": 1}],
        {4: request("a", "b"), 7: request("a")},
    )
    assert values(found[4].launches) == [0, 2]
    assert values(found[7].launches) == [3]


def test_a_variant_that_failed_says_so_and_shifts_nobody() -> None:
    found = assign(
        report("a", "a"),
        [
            {"variant": 0, "launches": 1},
            {"variant": 1, "launches": 0, "error": "refused"},
            {"variant": 2, "launches": 1},
        ],
        {index: request("a") for index in range(4)},
    )
    assert values(found[2].launches) == [1]
    assert found[1].missing == {"ncu": "not profiled: refused"}
    assert 3 not in found


def test_a_report_that_stops_early_leaves_gaps() -> None:
    lines = [{"variant": 0, "launches": 2}]
    found = assign(report("a"), lines, {0: request("a", "b")})
    assert values(found[0].launches) == [0]
    assert "b" in found[0].missing["ncu"]
