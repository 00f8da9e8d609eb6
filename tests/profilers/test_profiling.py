"""Kernels in the profiler's report find their way back to the variants that launched them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Hardware, KernelTask, Metric
from profilers import profiling
from profilers.calls import Call, Step
from profilers.ncu import NcuKernel, NcuReport
from profilers.profiling import Counters, ProfilingRequest, assign


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


def test_after_a_fatal_first_variant_the_others_are_profiled(
    monkeypatch: pytest.MonkeyPatch, scale_task: KernelTask
) -> None:
    asked: list[list[int]] = []

    def collect(_task: Any, requests: dict[int, Any], **_: Any) -> dict[int, Counters]:
        asked.append(list(requests))
        if 0 in requests:
            return {0: Counters(missing={"ncu": "not profiled: it faulted"})}
        return {index: Counters(launches=[{}]) for index in requests}

    monkeypatch.setattr(profiling, "_collect", collect)
    monkeypatch.setattr(profiling, "read_sass", lambda _cubin: {})
    profiles = profiling.profile_all(
        scale_task, [request("a"), request("b")], hardware=Hardware(name="d"), device=0,
        support=Path("s"),
    )  # fmt: skip
    assert asked == [[0, 1], [1]]
    assert "faulted" in profiles[0].missing["ncu"] and "ncu" not in profiles[1].missing
