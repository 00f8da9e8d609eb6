"""Kernels in the profiler's report find their way back to the variants that launched them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Hardware, Metric, Profile, SassFacts
from mcts.errors import WorldError
from profilers import ncu
from profilers.compiling.calls import Call, Step
from profilers.launching import requests
from profilers.launching.requests import ProfiledBuffer, ProfilingRequest, target_spec
from profilers.ncu import NcuKernel, NcuReport
from profilers.profiles import profiling
from profilers.profiles.profiling import Counters, assign
from profilers.profiles.starts import ProfilerStarts


def request(*kernels: str) -> ProfilingRequest:
    steps = tuple(Step(kernel=name, grid=(place, 1, 1)) for place, name in enumerate(kernels, 1))
    return ProfilingRequest(cubin=Path("a.cubin"), call=Call(steps=steps), data=())


def report(*kernels: str) -> NcuReport:
    return NcuReport(
        tuple(NcuKernel(name, {"m": Metric(value=i)}) for i, name in enumerate(kernels)), {}
    )


def values(launches: list[dict[str, Metric]]) -> list[float]:
    return [metrics["m"].value for metrics in launches]


def test_launches_are_assigned_in_order_and_foreign_kernels_skipped() -> None:
    found = assign(
        report("a", "stranger", "b", "a"),
        [{"variant": 4, "launches": 2}, {"variant": 7, "launches": 1}],
        {4: request("a", "b"), 7: request("a")},
    )
    assert values(found[4].launches) == [0, 2]
    assert values(found[7].launches) == [3]


def test_a_failed_variant_takes_no_launches_of_others() -> None:
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


def deadly(
    monkeypatch: pytest.MonkeyPatch, culprits: set[int], *, hang: bool = False
) -> list[list[int]]:
    """A profiled process that ends, or hangs, at each of `culprits`; what each start was asked."""
    asked: list[list[int]] = []

    def collect(command: Sequence[str], *, stop: threading.Event, **_: Any) -> NcuReport:
        place = Path(command[-2])
        while not place.exists():
            assert not stop.wait(0.001)
        spec = json.loads(place.read_text())
        wanted = [variant["index"] for variant in spec["variants"]]
        asked.append(wanted)
        done = list(takewhile(lambda index: index not in culprits, wanted))
        Path(spec["progress"]).write_text(
            "".join(json.dumps({"variant": index, "launches": 1}) + "\n" for index in done)
        )
        if hang and len(done) < len(wanted):
            assert stop.wait(30)
            return NcuReport((), {"ncu": "was stopped"})
        return report(*["a"] * len(done)) if done else NcuReport((), {"ncu": "nothing"})

    monkeypatch.setattr(ncu, "collect", collect)
    monkeypatch.setattr(profiling, "_START_S", 0.2 if hang else 30.0)
    monkeypatch.setattr(profiling, "_PER_LAUNCH_S", 0.1)
    monkeypatch.setattr(profiling, "read_sass", lambda _cubin: {})
    return asked


def profile_all(requests: Sequence[ProfilingRequest | str]) -> list[Profile]:
    found = profiling.profile_all(
        requests, hardware=Hardware(name="d"), device=0, support=Path("s")
    )
    return [item.profile for item in found]


def profile_missing(count: int) -> list[dict[str, str]]:
    return [profile.missing for profile in profile_all([request("a")] * count)]


def test_a_kernel_that_ends_the_process_is_blamed_and_the_others_are_profiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = deadly(monkeypatch, {0, 2})
    missing = profile_missing(4)
    assert asked == [[0, 1, 2, 3], [1, 2, 3], [3]]
    assert "while this kernel ran" in missing[0]["ncu"] and "ncu" in missing[2]
    assert "ncu" not in missing[1] and "ncu" not in missing[3]


def test_a_kernel_that_never_ends_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = deadly(monkeypatch, {1}, hang=True)
    missing = profile_missing(3)
    assert asked == [[0, 1, 2], [0, 2]]
    assert "had not ended after" in missing[1]["ncu"] and "ncu" not in missing[0] | missing[2]


@pytest.mark.parametrize("hang", [True, False])
def test_only_an_endless_kernel_is_not_run_again_for_a_timeline(
    monkeypatch: pytest.MonkeyPatch, hang: bool
) -> None:
    deadly(monkeypatch, {0}, hang=hang)
    wanted: list[list[int]] = []
    monkeypatch.setattr(
        profiling, "_timelines", lambda requests, **_: wanted.append(list(requests)) or {}
    )
    first, second = profile_all([replace(request("a"), timeline=True)] * 2)
    assert wanted == ([[1]] if hang else [[0, 1]])
    assert ("does not end" in first.missing.get("timeline", "")) is hang
    assert "timeline" not in second.missing


def test_the_start_that_was_made_ahead_is_the_first_to_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = deadly(monkeypatch, {1})
    collect, begun = ncu.collect, []

    def counted(*given: Any, **named: Any) -> NcuReport:
        begun.append(named["stop"])
        return collect(*given, **named)

    monkeypatch.setattr(ncu, "collect", counted)
    with closing(ProfilerStarts()) as starts:
        starts.prepare()
        waiting = starts._waiting
        assert waiting is not None
        found = profiling.profile_all(
            [request("a")] * 3, hardware=Hardware(name="d"), device=0, support=Path("s"),
            starts=starts,
        )  # fmt: skip
    assert asked == [[0, 1, 2], [2]] and len(begun) == 2 and begun[0] is waiting._stop
    assert [len(item.profile.kernels[0].metrics) for item in found] == [1, 0, 1]


def test_too_many_deadly_kernels_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    count = profiling.MOST_RESTARTS + 2
    asked = deadly(monkeypatch, set(range(count)))
    missing = profile_missing(count)
    assert len(asked) == profiling.MOST_RESTARTS
    assert "too many others" in missing[-1]["ncu"]


def test_machine_code_is_read_while_the_counters_are_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, collected = threading.Event(), threading.Event()

    def read(_cubin: Path) -> dict[str, SassFacts]:
        began.set()
        assert collected.wait(30)
        raise WorldError("no nvdisasm")

    def collect(wanted: Mapping[int, ProfilingRequest], **_: Any) -> dict[int, Counters]:
        assert began.wait(30)
        collected.set()
        return {index: Counters() for index in wanted}

    monkeypatch.setattr(profiling, "_collect", collect)
    monkeypatch.setattr(profiling, "read_sass", read)
    assert [missing["sass"] for missing in profile_missing(2)] == ["no nvdisasm"] * 2


def test_equal_launches_are_profiled_once_and_counted() -> None:
    same, other = Step(kernel="a", grid=(4, 1, 1)), Step(kernel="a", grid=(8, 1, 1))
    call = Call(steps=(same, Step(memset="x"), other, same, same))
    assert call.distinct() == ((0, 3), (2, 1))


def test_a_long_plan_says_what_was_not_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    long = request(*["a"] * (requests.MOST_LAUNCHES + 3))
    seen = {0: Counters(launches=[{}] * requests.MOST_LAUNCHES)}
    monkeypatch.setattr(profiling, "_collect", lambda *_, **__: seen)
    monkeypatch.setattr(profiling, "read_sass", lambda _cubin: {})
    (found,) = profile_all([long])
    assert len(found.kernels) == requests.MOST_LAUNCHES
    assert found.missing["launches"].startswith("3 further launches")


def test_variants_of_one_task_share_their_buffers() -> None:
    data = (ProfiledBuffer("x", 64, "float32", "normal"),)
    one = ProfilingRequest(cubin=Path("a"), call=Call(steps=(Step(kernel="k"),)), data=data)
    other = replace(one, data=())
    spec = target_spec({3: one, 5: other, 6: one}, 0, Path("s"), Path("p"))
    assert [variant["data"] for variant in spec["variants"]] == [0, 1, 0]
    assert [len(group) for group in spec["data"]] == [1, 0]
