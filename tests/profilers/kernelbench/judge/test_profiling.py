"""A candidate's whole profile: traced, counted by an ncu that prints a record, and classified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("torch")

from mcts.domain import (
    Build,
    Candidate,
    Ceilings,
    Hardware,
    KernelTask,
    Profile,
    SassFacts,
    Tolerance,
    Work,
    Workload,
)
from mcts.domain import metrics as m
from microtools.advisor import RooflineAdvisor
from profilers import ncu
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.hardware.device import Gpu
from profilers.kernelbench.judge.building import BuiltModule
from profilers.kernelbench.judge.profiling import CEILINGS, MachineCode, profile_model
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.kernelbench.judge.workplace import KernelBenchWorkplace
from profilers.profiles.profiling import SASS, TIMELINE
from tests.profilers.kernelbench.judge.fake_ncu import ONLY_PRINT, THEN_PRINT, install
from tests.profilers.kernelbench.judge.test_counters import HONEST, KERNELS, PROBLEM, saying

CANDIDATE = Candidate(source=HONEST)
HARDWARE = Hardware(
    name="NVIDIA H200",
    multiprocessors=132,
    ceilings=Ceilings(copy_gb_per_s=4000, fp32_tflop_per_s=55, launch_us=2.0),
)
WORK = Work(bytes=10_000_000, flops=20_000_000)
TASK = KernelTask(
    name="linear",
    dialect="kernelbench",
    baseline=Candidate(source=PROBLEM + "\nModelNew = Model\n"),
    reference=PROBLEM,
    workloads=(Workload(name="main", shape={}),),
    tolerance=Tolerance(relative=1e-4, absolute=1e-4),
)


def trace(*names: str) -> dict[str, Any]:
    """One kernel after the other, 10 microseconds each, three calls."""
    events = [
        ["kernel", which, at, at + 10_000, 7, 1 + which, 0, 0, 0]
        for call in range(3)
        for which, at in enumerate(10**6 * call + 20_000 * step for step in range(len(names)))
    ]
    return {"trace": {"names": list(names), "events": events, "left_out": 0}}


class Place:
    """A workplace whose device is the host, and whose worker answers `reply` or raises it."""

    jail = KernelBenchWorkplace.jail

    def __init__(self, folder: Path, source: str, reply: dict[str, Any] | Exception) -> None:
        self.task, self.device, self.hardware = TASK, "cpu", HARDWARE
        self.settings = KernelBenchSettings()
        self.gpu: Gpu | None = Gpu(0, "uuid", (9, 0), HARDWARE)
        self.no_ceilings: str | None = None
        self._reply = reply
        self.modules: Any = {"us": 0.0, "modules": []}
        (folder / "work").mkdir()
        (folder / "source").mkdir()
        path = folder / "source" / "candidate.py"
        path.write_text(source)
        problem = folder / "problem.py"
        problem.write_text(PROBLEM)
        self.problem = SimpleNamespace(path=problem, least_work=lambda: WORK)
        self.built: BuiltModule | Failed = BuiltModule(folder / "work", path, source, {}, Build())
        self.builder = SimpleNamespace(build=self._build, tidy=lambda _candidate: None)

    def _build(self, _candidate: Candidate) -> BuiltModule:
        if isinstance(self.built, Failed):
            raise self.built
        return self.built

    def load(self, _session: Any, _candidate: Candidate) -> None:
        if isinstance(self._reply, Exception):
            raise self._reply

    @contextmanager
    def session(self, *_: Any, **__: Any) -> Iterator[Any]:
        @contextmanager
        def drawn(_calls: int) -> Iterator[list[str]]:
            yield ["draw"]

        yield SimpleNamespace(
            drawn=drawn,
            place=lambda ids: [[] for _ in ids],
            batch_s=lambda _calls: 1.0,
            worker=SimpleNamespace(ask=self._ask),
        )

    def _ask(self, operation: str, **_: Any) -> Any:
        if operation == "record":
            return self._reply
        if isinstance(self.modules, Exception):
            raise self.modules
        return self.modules


@pytest.fixture
def make(tmp_path: Path, tools: Path) -> Any:
    def make(
        reply: dict[str, Any] | Exception, source: str = HONEST, *, run: str = ONLY_PRINT
    ) -> Place:
        install(tools, run)
        return Place(tmp_path, source, reply)

    return make


def profile(
    place: Place, code: MachineCode | None = None, told: list[str] | None = None
) -> Profile:
    return profile_model(
        cast(KernelBenchWorkplace, place),
        CANDIDATE,
        time_us=200.0,
        tell=lambda _candidate, stage: (told if told is not None else []).append(stage),
        read_machine_code=lambda _candidate: code or MachineCode(missing="none was left"),
        call_s=0.01,
    )


@pytest.mark.parametrize("needed", [1, 1_000_000], ids=["many cores", "few cores"])
def test_counters_code_timeline_and_roofline_in_one(
    make: Any, needed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On many cores the profiler starts while a call is traced, and profiles once."""
    monkeypatch.setattr("profilers.profiles.starts._ENOUGH_CORES", needed)
    told: list[str] = []
    code = MachineCode({"saxpy": SassFacts(instructions=30)})
    calls = saying("open('calls', 'a').write('x')")
    place = make(trace("saxpy", "saxpy_strided", "naive_mm"), calls, run=THEN_PRINT)
    found = profile(place, code, told)
    assert (tmp_path / "work" / "calls").read_text() == "xxxx"
    assert told == ["compiling", "profiling"]
    assert [kernel.name for kernel in found.kernels] == KERNELS
    assert all(m.DRAM in kernel.metrics for kernel in found.kernels)
    assert found.kernels[0].sass is not None and found.kernels[1].sass is None
    assert found.timeline is not None and found.timeline.calls == 3
    assert found.roofline is not None and found.roofline.bound != "unknown"
    assert found.hardware == HARDWARE and found.work == WORK
    assert found.roofline.speed_of_light_us == pytest.approx(2.5)
    assert not {ncu.TOOL, SASS, TIMELINE, CEILINGS} & set(found.missing)


def test_a_profiler_that_is_ready_ends_where_nothing_can_be_traced(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("profilers.profiles.starts._ENOUGH_CORES", 1)
    calls = saying("open('calls', 'a').write('x')")
    place = make(ChildGone("no answer", hung=True, output=""), calls, run=THEN_PRINT)
    found = profile(place)
    assert "its process was lost when it was traced" in found.missing[ncu.TOOL]
    assert not list((tmp_path / "work").iterdir())


def test_the_advisor_speaks_of_its_kernels_by_name(make: Any) -> None:
    found = profile(make(trace("saxpy", "saxpy_strided", "naive_mm")))
    guidance = RooflineAdvisor().examine(work=None, profile=found, time_us=200.0)
    assert guidance.findings
    assert not [note for note in guidance.notes if "tool" in note and "raised" in note]
    longest = found.dominant
    assert longest is not None and longest.name in guidance.render()


def test_a_library_is_not_told_how_to_write_its_kernels(make: Any) -> None:
    found = profile(make(trace("saxpy", "saxpy_strided", "naive_mm")))
    owned = [one.model_copy(update={"library": True}) for one in found.kernels]
    of_libraries = found.model_copy(update={"kernels": tuple(owned)})
    guidance = RooflineAdvisor().examine(work=None, profile=of_libraries, time_us=200.0)
    assert {finding.level for finding in guidance.findings} <= {"system"}
    said = {finding.tool: finding for finding in guidance.findings}
    assert "100%" in said["library_kernels"].advice and "naive_mm" in said["library_kernels"].advice


def test_a_profile_tells_how_long_the_modules_take(make: Any) -> None:
    place = make(trace("saxpy"))
    assert profile(place).modules is None
    place.modules = {"us": 40.0, "modules": [{"path": "body", "kind": "Linear", "us": 30.0}]}
    found = profile(place)
    assert found.modules is not None
    (body,) = found.modules.modules
    assert found.modules.share(body) == 0.75


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (
            RequestRefused("runtime", "RuntimeError: no hooks\nline", sticky=False),
            "RuntimeError: no",
        ),
        (ChildGone("no answer within 20 s", hung=True, output=""), "was lost"),
        ({"us": "long", "modules": [1]}, "did not tell"),
        ({"modules": 1}, "did not tell"),
        ({}, "did not tell"),
    ],
)
def test_modules_that_cannot_be_timed_cost_only_themselves(make: Any, told: Any, why: str) -> None:
    place = make(trace("saxpy", "saxpy_strided", "naive_mm"))
    place.modules = told
    found = profile(place)
    assert why in found.missing["modules"]
    assert [kernel.name for kernel in found.kernels] == KERNELS
    assert found.timeline is not None


def test_a_candidate_that_fails_when_traced_is_not_run_again(make: Any) -> None:
    found = profile(make(RequestRefused("runtime", "RuntimeError: no\nline 3", sticky=False)))
    assert found.kernels == ()
    assert found.missing[ncu.TOOL] == "it failed when it was traced: RuntimeError: no"


def test_a_candidate_that_hangs_when_traced_is_not_run_again(make: Any) -> None:
    found = profile(make(ChildGone("no answer within 20 s", hung=True, output="")))
    assert found.missing[ncu.TOOL].startswith("its process was lost when it was traced: no answer")


def test_without_a_trace_there_are_counters_all_the_same(make: Any) -> None:
    found = profile(make(RequestRefused("internal", "KeyError: 'record'", sticky=True)))
    assert [kernel.name for kernel in found.kernels] == KERNELS
    assert found.timeline is None and "KeyError" in found.missing[TIMELINE]


def test_a_forged_trace_costs_only_itself(make: Any) -> None:
    found = profile(make({"trace": "all is well"}))
    assert [kernel.name for kernel in found.kernels] == KERNELS
    assert "not of the agreed form" in found.missing[TIMELINE]


def test_a_failure_under_ncu_leaves_what_else_is_known(make: Any) -> None:
    failing = saying("raise RuntimeError('not under ncu')")
    place = make(trace("own_kernel"), failing, run=THEN_PRINT)
    found = profile(place, MachineCode({"own_kernel": SassFacts(instructions=3)}))
    assert "not under ncu" in found.missing[ncu.TOOL]
    assert [(one.name, one.is_counted) for one in found.kernels] == [("own_kernel", False)]
    assert found.kernels[0].total_us
    assert found.kernels[0].sass is not None
    assert found.roofline is not None  # from the timeline
    guidance = RooflineAdvisor().examine(work=None, profile=found, time_us=200.0)
    assert any("not under ncu" in note for note in guidance.notes)


def test_without_a_gpu_only_machine_code_speaks(make: Any) -> None:
    place = make(trace("own"))
    place.gpu = None
    found = profile(place, MachineCode({"own": SassFacts(instructions=3)}))
    assert [one.name for one in found.kernels] == ["own"]
    assert found.missing == {ncu.TOOL: "there is no GPU here", TIMELINE: "there is no GPU here"}


def test_missing_ceilings_and_a_failed_build_are_named(make: Any) -> None:
    place = make(trace("own"))
    place.no_ceilings = "no compiler"
    place.built = Failed("compile_failed", "does not build", build=Build())
    found = profile(place)
    assert found.missing[CEILINGS] == "no compiler"
    assert found.missing[ncu.TOOL] == "not built: does not build"
