"""The whole evaluator among stand-ins: what it opens, uses and gives back.

The compiler returns names, the worker is in this process, the driver is emulated; the cases, the
gate, the launch plans and the judge are the real ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcts.domain import (
    KERNELBENCH,
    Candidate,
    Hardware,
    Isolation,
    KernelProfile,
    KernelTask,
    Metric,
    Profile,
    Workload,
)
from mcts.errors import InputError, UnfairTask, WorldError
from profilers.compiling.compiler import Compiled
from profilers.cuda import workplace
from profilers.cuda.evaluator import GpuEvaluator, GpuSettings
from profilers.cuda.judging import Judge
from profilers.hardware.ceilings import Rates
from profilers.hardware.device import Gpu
from profilers.launching.requests import ProfilingRequest
from profilers.profiles.profiling import Profiled
from profilers.profiles.starts import ProfilerStarts
from tests.profilers import emulated
from tests.profilers.place import AGREEING, Body, LocalWorker, scale_kernel

HELD = Isolation(level="full")
STATEMENTS: dict[str, Body] = {
    "y[i] = 2.0f * x[i];": lambda x, y: np.multiply(x, 2, out=y),
    "y[i] = x[i] + x[i];": lambda x, y: np.add(x, x, out=y),
    "y[i] = 3.0f * x[i];": lambda x, y: np.multiply(x, 3, out=y),
}


class World:
    """What an evaluator finds around it; `log` has what it opened, started and closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: list[str] = []
        self.note: str | None = None
        self.busy = self.faulty = False
        self.said: list[str] = []
        self.told: list[tuple[str, str]] = []

    def find_gpu(self, ordinal: int) -> Gpu:
        return Gpu(ordinal, "GPU-0", (9, 0), Hardware(name="emulated", l2_bytes=1 << 20))

    def rates(self, *_: Any, **__: Any) -> Rates:
        self.log.append("rates")
        return Rates(copy_gb_per_s=1e6, read_gb_per_s=1e6, fp32_tflop_per_s=1e6, launch_us=1.0)

    def lock(self, uuid: str) -> Any:
        world = self

        class Lock:
            def acquire(self, **_: Any) -> None:
                if world.busy:
                    raise WorldError("the GPU is taken")
                world.log.append(f"lock {uuid}")

            def release(self) -> None:
                world.log.append("unlock")

        return Lock()

    def compiler(self, *, arch: str, **_: Any) -> Any:
        world = self
        self.log.append(f"compiler {arch}")

        class Compiler:
            folder = world.folder

            def compile(self, source: str, options: Sequence[str] = (), **_: Any) -> Compiled:
                return world.compiled(source)

            def close(self) -> None:
                world.log.append("no compiler")

        return Compiler()

    def compiled(self, source: str) -> Compiled:
        known = [name for name in STATEMENTS if name in source]
        path = self.folder / f"{abs(hash(tuple(known)))}.cubin"
        path.write_bytes(str(known).encode())
        if known:
            kernel = scale_kernel(STATEMENTS[known[0]])
            emulated.PROGRAMS[path.read_bytes()] = lambda: {"scale": kernel}
        kernels = frozenset({"scale" if known else "another"})
        return Compiled(path, path.stem, kernels, "", 0.0, False)

    def worker(self, *, setup: Callable[[Any], None], readable: Sequence[Path], **_: Any) -> Any:
        world = self

        class WatchedWorker(LocalWorker):
            isolation, note = HELD, world.note

            def ready(self) -> None:
                if world.faulty:
                    raise WorldError("a GPU worker did not start")
                if self._worker is None:
                    world.log.append("worker")
                super().ready()

            def close(self) -> None:
                world.log.append("no worker")

        return WatchedWorker(setup, self.folder)


@pytest.fixture
def world(gpu: emulated.Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    found = World(tmp_path)
    monkeypatch.setattr(workplace, "find_gpu", found.find_gpu)
    monkeypatch.setattr(workplace, "GpuLock", found.lock)
    monkeypatch.setattr(workplace, "Compiler", found.compiler)
    monkeypatch.setattr(workplace, "GpuWorker", found.worker)
    monkeypatch.setattr(workplace, "measured_rates", found.rates)
    monkeypatch.setattr(Judge, "_compare_clocks", lambda *_: AGREEING)
    return found


@pytest.fixture
def task(scale_task: KernelTask) -> KernelTask:
    workloads = (
        Workload(name="main", shape={"n": 4096}),
        Workload(name="small", shape={"n": 1000}, weight=0),
    )
    return scale_task.model_copy(update={"workloads": workloads, "cost": None})


def opened(task: KernelTask, world: World) -> GpuEvaluator:
    evaluator = GpuEvaluator(task, on_progress=world.said.append)
    evaluator.tell_stages(lambda candidate_id, stage: world.told.append((candidate_id, stage)))
    return evaluator


@pytest.fixture
def evaluator(task: KernelTask, world: World) -> Iterator[GpuEvaluator]:
    evaluator = opened(task, world)
    yield evaluator
    evaluator.close()


def test_it_is_opened_in_order_and_closed_in_the_reverse(task: KernelTask, world: World) -> None:
    evaluator = opened(task, world)
    assert world.log == ["lock GPU-0", "compiler sm_90a", "worker", "rates"]
    assert world.said[-2:] == ["starting a worker on emulated", "checking the baseline"]
    assert evaluator.baseline_evaluation.measured and evaluator.marks == ()
    ceilings = evaluator.hardware.ceilings
    assert ceilings is not None and ceilings.copy_gb_per_s == 1e6
    evaluator.close()
    evaluator.close()
    assert world.log[4:] == ["no worker", "no compiler", "unlock"]


def test_evaluations_tell_the_isolation_and_its_note(
    task: KernelTask, world: World, make: Callable[..., Candidate]
) -> None:
    world.note = "without a jail"
    evaluator = opened(task, world)
    right = make("y[i] = x[i] + x[i];")
    found = evaluator.evaluate(right)
    assert found.measured and found.isolation == HELD and found.notes == ("without a jail",)
    assert [stage for _, stage in world.told] == [
        "compiling", "verifying", "verifying", "verifying", "timing",
    ]  # fmt: skip
    wrong = evaluator.evaluate(make("y[i] = 3.0f * x[i];"))
    assert wrong.status == "wrong_result" and wrong.isolation == HELD
    assert wrong.notes == ("without a jail",)
    unknown = evaluator.evaluate(make("y[i] = nosuch;"))
    assert unknown.status != "measured" and unknown.isolation is None
    evaluator.close()


def test_a_finalist_gets_a_fresh_worker_and_fresh_cases(
    evaluator: GpuEvaluator, world: World, make: Callable[..., Candidate]
) -> None:
    candidate = make("y[i] = x[i] + x[i];")
    first = evaluator.evaluate(candidate).model_copy(update={"profile": Profile()})
    usual = list(evaluator._place._cases)
    assert world.log.count("worker") == 1
    again = evaluator.confirm(candidate, first)
    assert again.measured and again.profile == Profile()
    assert "confirmed in a fresh process" in again.notes[-1]
    assert evaluator._place._cases == usual
    assert world.log.count("worker") == 2
    assert evaluator.evaluate(candidate).measured
    assert world.log.count("worker") == 3, "what a finalist was confirmed in is not used again"
    kept = {path for _, case in usual for path in case.files}
    kept |= {path for case in evaluator._place._variations for path in case.files}
    confirming = {path for _, case in evaluator._place.confirmation_cases() for path in case.files}
    assert not confirming & kept
    assert {str(path) for path in evaluator._place._store.folder.glob("*.bin")} == kept | confirming


def test_all_finalists_are_confirmed_on_the_same_cases_that_the_search_never_saw(
    evaluator: GpuEvaluator, world: World, make: Callable[..., Candidate]
) -> None:
    used: list[list[str]] = []
    setup = evaluator._place._set_up

    def watched(worker: Any) -> None:
        used.append([path for _, case in evaluator._place._cases for path in case.files])
        setup(worker)

    evaluator._place.worker._setup = watched
    for statement in ("y[i] = x[i] + x[i];", "y[i] = 2.0f * x[i];"):
        candidate = make(statement)
        assert evaluator.confirm(candidate, evaluator.evaluate(candidate)).measured
    first, between, second = used
    assert first == second
    assert between == [path for _, case in evaluator._place._cases for path in case.files]
    assert not set(first) & set(between)


def test_both_programs_run_as_often_as_asked(
    evaluator: GpuEvaluator, gpu: emulated.Driver, make: Callable[..., Candidate]
) -> None:
    before = gpu.launched.count("scale")
    with evaluator.workload_runner(make()) as runners:
        runners.baseline(10)
        runners.candidate(10)
    assert gpu.launched.count("scale") - before == 2 * (10 + 1), "each is run once to begin with"
    with (
        pytest.raises(InputError, match="nothing to run"),
        evaluator.workload_runner(make("y[i] = nosuch;")),
    ):
        pass


def test_a_candidate_that_does_not_build_keeps_its_place_among_profiles(
    evaluator: GpuEvaluator,
    world: World,
    make: Callable[..., Candidate],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[ProfilingRequest | str] = []

    def profile_all(requests: Sequence[ProfilingRequest | str], **_: Any) -> list[Profiled]:
        asked.extend(requests)
        return [Profiled(Profile(), None) for _ in requests]

    monkeypatch.setattr("profilers.cuda.profiling.profile_all", profile_all)
    world.told.clear()
    candidates = [make(), make("y[i] = nosuch;")]
    assert evaluator.profile_many(candidates) == [Profile(), Profile()]
    good, bad = asked
    assert isinstance(good, ProfilingRequest) and [item.name for item in good.data] == ["x", "y"]
    assert isinstance(bad, str) and bad.startswith("not built: ")
    assert [stage for _, stage in world.told] == ["compiling", "compiling", "profiling"]
    assert evaluator.profile_many([]) == []


@pytest.mark.parametrize(("counted", "cores"), [(True, 1), (False, 1), (True, 10_000)])
def test_the_next_start_of_the_profiler_is_made_ahead_where_there_are_counters_and_cores(
    evaluator: GpuEvaluator,
    make: Callable[..., Candidate],
    monkeypatch: pytest.MonkeyPatch,
    counted: bool,
    cores: int,
) -> None:
    ahead = counted and cores == 1
    monkeypatch.setattr("profilers.profiles.starts._ENOUGH_CORES", cores)
    made: list[str] = []

    class Start:
        ended = False

        def __init__(self) -> None:
            made.append("made")

        def close(self) -> None:
            made.append("closed")

    def profile_all(
        requests: Sequence[ProfilingRequest | str], *, starts: ProfilerStarts, **_: Any
    ) -> list[Profiled]:
        starts.take()
        kernel = KernelProfile(name="k", launches=1, metrics={"m": Metric(value=1)})
        kernels = (kernel.model_copy(update={} if counted else {"metrics": {}}),)
        return [Profiled(Profile(kernels=kernels), None) for _ in requests]

    monkeypatch.setattr("profilers.profiles.starts.ProfilerStart", Start)
    monkeypatch.setattr("profilers.cuda.profiling.profile_all", profile_all)
    evaluator.profile_many([make()])
    assert made == (["made", "made"] if ahead else ["made"])
    evaluator.profile_many([make()])
    assert made == ["made"] * (3 if ahead else 2)
    evaluator.close()
    assert made.count("closed") == ahead


def test_a_candidate_waits_while_another_has_the_gpu(
    evaluator: GpuEvaluator, world: World, make: Callable[..., Candidate]
) -> None:
    waiting = threading.Event()

    def tell(candidate_id: str, stage: str) -> None:
        world.told.append((candidate_id, stage))
        if stage == "waiting":
            waiting.set()

    evaluator.tell_stages(tell)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(evaluator.evaluate(make())))
    with evaluator._gpu_for("other", "metering"):
        thread.start()
        assert waiting.wait(30)
        assert not found
    thread.join(30)
    assert found[0].measured
    assert (make().id, "waiting") in world.told


def test_an_evaluator_that_fails_to_open_releases_what_it_took(
    task: KernelTask, world: World, make: Callable[..., Candidate]
) -> None:
    wrong = task.model_copy(update={"baseline": make("y[i] = 3.0f * x[i];")})
    with pytest.raises(InputError, match="the baseline of scale fails"):
        opened(wrong, world)
    assert world.log[-3:] == ["no worker", "no compiler", "unlock"]
    broken = task.model_copy(update={"baseline": make("y[i] = nosuch;")})
    with pytest.raises(InputError, match="no usable candidate"):
        opened(broken, world)
    assert world.log[-2:] == ["no compiler", "unlock"]
    fixed = task.model_copy(update={"reference": "def reference(x):\n    return 0 * x\n"})
    with pytest.raises(UnfairTask):
        opened(fixed, world)
    assert world.log[-2:] == ["no compiler", "unlock"]
    world.faulty = True
    with pytest.raises(WorldError, match="did not start"):
        opened(task, world)
    assert world.log[-3:] == ["no worker", "no compiler", "unlock"]
    world.busy = True
    before = list(world.log)
    with pytest.raises(WorldError, match="taken"):
        opened(task, world)
    assert world.log == before, "a lock that was not had is not released"


def test_a_task_of_another_dialect_is_refused(task: KernelTask, world: World) -> None:
    other = task.model_copy(update={"dialect": KERNELBENCH})
    with pytest.raises(InputError, match="not kernelbench"):
        GpuEvaluator(other, settings=GpuSettings())
    assert world.log == []
