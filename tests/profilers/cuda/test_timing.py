"""Several weighted workloads are timed in turns, judged alike and reported one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from mcts.domain import Evaluation, KernelTask, Timing, Tolerance, Workload
from mcts.errors import InputError
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.cuda.judging import Judge
from profilers.cuda.residency import MEMORY_SHARE, check_room, resident_bytes
from profilers.cuda.settings import GpuSettings
from profilers.cuda.timing import Measured, timing_of, why_suspect
from profilers.hardware import driver
from profilers.launching.gpu_worker import GpuWorker
from tests.profilers import emulated
from tests.profilers.cuda.test_judging import FakeWorker, TimelessJudge
from tests.profilers.place import AGREEING, QUICK, Array, Body, Place, scaled

WIDE, NARROW, ODD = 4096, 1000, 333


@pytest.fixture
def task(scale_task: KernelTask) -> KernelTask:
    """Three calls in four are on `wide`, one is on `narrow`; `odd` is verified only."""
    return scale_task.model_copy(
        update={
            "workloads": (
                Workload(name="narrow", shape={"n": NARROW}, weight=10),
                Workload(name="wide", shape={"n": WIDE}, weight=30),
                Workload(name="odd", shape={"n": ODD}, weight=0),
            ),
            "tolerance": Tolerance(relative=1e-3, absolute=1e-3),
        }
    )


@pytest.fixture
def gpu(gpu: emulated.Driver) -> emulated.Driver:
    gpu.call_us["scale"] = 100.0
    return gpu


def taking(gpu: emulated.Driver, us: Mapping[int, float]) -> Body:
    """A right kernel that takes so long by the number of elements, where all others take 100."""

    def body(x: Array, y: Array) -> None:
        scaled(x, y)
        gpu.now_us += us.get(len(x), 100.0) - 100.0

    return body


def watched(place: Place) -> list[int]:
    """The number of elements at each call of a right kernel that is judged, and of later calls."""
    seen: list[int] = []

    def watching(x: Array, y: Array) -> None:
        scaled(x, y)
        seen.append(len(x))

    place.evaluate("watching", lambda: watching)
    return seen


def timing(found: Evaluation) -> Timing:
    assert found.measured and found.timing is not None, found.message
    return found.timing


def test_the_heaviest_comes_first_and_weights_are_shares(task: KernelTask) -> None:
    assert task.timed_workload.name == "wide"
    assert task.weights == {"wide": 0.75, "narrow": 0.25}
    assert list(task.weights) == [workload.name for workload in task.timed_workloads]


def test_a_candidate_is_timed_on_every_weighted_workload(
    place: Place, gpu: emulated.Driver
) -> None:
    found = timing(place.evaluate("mixed", lambda: taking(gpu, {WIDE: 50.0, NARROW: 110.0})))
    wide, narrow = found.shapes
    assert (wide.workload, wide.weight, narrow.workload, narrow.weight) == (
        "wide", 0.75, "narrow", 0.25,
    )  # fmt: skip
    assert wide.median_us == pytest.approx(50) and wide.speedup == pytest.approx(2)
    assert narrow.median_us == pytest.approx(110)
    assert found.median_us == pytest.approx(0.75 * 50 + 0.25 * 110)
    assert found.baseline_us == pytest.approx(100)
    assert found.speedup == pytest.approx(100 / 65)
    assert found.heaviest == wide and found.regressions == ("narrow",)
    assert len(wide.samples_us) == wide.rounds and found.samples_us == ()
    assert found.rounds == wide.rounds + narrow.rounds == 2 * QUICK.min_blocks * QUICK.rounds
    assert place.evaluate("baseline", lambda: scaled).held_back == ()


def test_every_shape_is_verified_on_cases_of_its_own(place: Place) -> None:
    found = place.evaluate("baseline", lambda: scaled)
    assert found.verification is not None
    assert found.verification.rounds == 3 + 3 + 3 + 1, "two timed, variations, one that is not"


def test_shapes_take_turns_a_block_of_each(place: Place) -> None:
    place.evaluate("baseline", lambda: scaled)
    seen = watched(place)
    timed = [n for n in seen if n != ODD][6:]  # verified first
    block = 1 + QUICK.rounds
    turn = [WIDE] * block + [NARROW] * block
    assert timed[3 : 3 + 6 * len(turn)] == turn * 6


def test_a_wrong_result_on_the_lighter_shape_is_wrong(place: Place) -> None:
    def cut(x: Array, y: Array) -> None:
        y[:] = 2 * x
        if len(x) == NARROW:
            y[7] += 1

    with pytest.raises(Failed, match=r"narrow: 1 of 1000 elements of y wrong; first at \[7\]"):
        place.evaluate("cut", lambda: cut)


def test_a_cheat_on_the_lighter_shape_alone_is_found_while_it_is_timed(place: Place) -> None:
    calls = 0

    def late(x: Array, y: Array) -> None:
        nonlocal calls
        y[:] = 2 * x
        if len(x) == NARROW:
            calls += 1
            if calls > 3 + 3 + 2:
                y[:] = 0

    with pytest.raises(Failed, match=r"while being timed: narrow: \d+ of 1000") as caught:
        place.evaluate("late", lambda: late)
    assert caught.value.status == "wrong_result"


def test_batches_run_on_the_workload_that_is_asked_for(place: Place) -> None:
    seen = watched(place)
    for workload, n in (("wide", WIDE), ("narrow", NARROW)):
        seen.clear()
        request = {"op": "batch", "role": "candidate", "workload": workload, "calls": 5}
        assert place.worker.ask(request)["calls"] == 5
        assert seen == [n] * 6


class TwoShapes(FakeWorker):
    """A worker that times two workloads; a batch of the lighter one takes ten times."""

    lag = 1.0

    def time(self, message: Mapping[str, Any]) -> dict[str, Any]:
        shape = super().time(message)["shapes"]["main"]
        return {"shapes": {"wide": shape, "narrow": shape}, "damaged": []}

    def verify(self, message: Mapping[str, Any]) -> dict[str, Any]:
        (run,) = super().verify(message)["cases"]
        return {"cases": [{**run, "workload": name} for name in ("wide", "narrow")], "damaged": []}

    def batch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        found = super().batch(message)
        lag = self.lag if message["workload"] == "narrow" else 1.0
        return {**found, "host_us": lag * found["host_us"]}


@pytest.mark.parametrize("lag", [1.0, 10.0])
def test_clocks_are_compared_on_every_shape(task: KernelTask, place: Place, lag: float) -> None:
    stand = TwoShapes()
    stand.lag = lag
    judge = TimelessJudge(task, cast(GpuWorker, stand), GpuSettings(), floors_us={})
    found = judge.judge(place.baseline, [])
    assert stand.asked.count("guard") == (2 if lag == 1 else 4)
    assert found.measured is (lag == 1)
    assert lag == 1 or found.message.startswith("workload narrow: the clocks disagree")


def test_the_deadline_of_timing_covers_all_shapes(
    scale_task: KernelTask, task: KernelTask, place: Place
) -> None:
    deadlines = []
    for judged, stand in ((scale_task, FakeWorker()), (task, TwoShapes())):
        stand.us = 1e6
        judge = Judge(judged, cast(GpuWorker, stand), GpuSettings(), floors_us={})
        judge._compare_clocks = lambda *_: AGREEING  # type: ignore[method-assign]
        judge.judge(place.baseline, [])
        deadlines.append(stand.timeouts_s["time"][0] - GpuSettings().time_deadline_s)
    assert deadlines[1] == pytest.approx(2 * deadlines[0])


def measured(task: KernelTask, us: Mapping[str, float]) -> list[Measured]:
    return [
        Measured(
            workload,
            {"blocks": [{"baseline_us": [100.0] * 4, "candidate_us": [us[workload.name]] * 4}] * 6},
            AGREEING,
        )
        for workload in task.timed_workloads
    ]


def test_a_time_below_a_shapes_own_floor_is_suspect(task: KernelTask) -> None:
    found = measured(task, {"wide": 50.0, "narrow": 5.0})
    whole = timing_of(task, "c", found)
    assert why_suspect(found, whole, {"wide": 40.0, "narrow": 4.0}) is None
    reason = why_suspect(found, whole, {"wide": 40.0, "narrow": 10.0})
    assert reason is not None and reason.startswith("workload narrow: 5 us is faster than")


def test_a_task_may_allow_regressions(task: KernelTask) -> None:
    us = {"wide": 50.0, "narrow": 110.0}
    refused = timing_of(task, "c", measured(task, us))
    allowing = task.model_copy(update={"regressions": "allowed"})
    allowed = timing_of(allowing, "c", measured(allowing, us))
    assert refused.regressions == allowed.regressions == ("narrow",)
    assert allowed.regressions_allowed and not refused.regressions_allowed
    assert (
        allowing.id != task.id and task.model_copy(update={"regressions": "refused"}).id == task.id
    )


@pytest.mark.parametrize(("narrow_us", "regressed"), [(100.9, ()), (101.5, ("narrow",))])
def test_one_percent_is_no_regression(
    task: KernelTask, narrow_us: float, regressed: tuple[str, ...]
) -> None:
    us = {"wide": 100.0, "narrow": narrow_us}
    assert timing_of(task, "c", measured(task, us)).regressions == regressed


def test_one_workload_has_no_shapes(scale_task: KernelTask) -> None:
    found = timing_of(scale_task, "c", measured(scale_task, {"main": 50.0}))
    assert found.shapes == () and found.heaviest is found and found.regressions == ()
    assert len(found.samples_us) == 24


def test_a_shape_that_does_not_fit_beside_the_others_is_named(task: KernelTask) -> None:
    wide, narrow = (resident_bytes(task, load, cases=3) for load in task.timed_workloads)
    assert wide > 3 * (4 + 8) * WIDE + 4 * WIDE + 2 * 8 * WIDE
    enough = int((wide + narrow) / MEMORY_SHARE) + 1
    check_room(task, memory_bytes=enough, cases=3)
    check_room(task, memory_bytes=None, cases=3)
    with pytest.raises(InputError, match=r"narrow does not fit .* beside the .*weight = 0"):
        check_room(task, memory_bytes=enough - 100, cases=3)
    with pytest.raises(InputError, match="wide does not fit on the device: it needs"):
        check_room(task, memory_bytes=1000, cases=3)


def test_one_workload_may_fill_the_device(scale_task: KernelTask) -> None:
    check_room(scale_task, memory_bytes=1000, cases=3)


def test_a_device_that_others_have_filled_names_the_workload(
    gpu: emulated.Driver, task: KernelTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(task, tmp_path)
    alloc = type(gpu).on_cuMemAlloc_v2

    def full(self: emulated.Driver, pointer: Any, size: int) -> int:
        return driver.OUT_OF_MEMORY if size == 4 * NARROW else alloc(self, pointer, size)

    monkeypatch.setattr(type(gpu), "on_cuMemAlloc_v2", full)
    with pytest.raises(RequestRefused, match="no device memory is left for workload narrow"):
        place.evaluate("baseline", lambda: scaled)
    place.store.close()
