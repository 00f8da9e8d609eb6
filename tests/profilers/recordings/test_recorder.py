"""Recording a space: everything measured once, failures kept, a killed run goes on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mcts.domain import (
    Buffer,
    Candidate,
    Evaluation,
    Hardware,
    KernelProfile,
    KernelTask,
    Metric,
    Profile,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    Workload,
)
from mcts.domain import metrics as m
from mcts.errors import InputError, WorldError
from mcts.ports import Evaluator
from profilers.recordings.recorder import Progress, record, with_profile
from profilers.recordings.recording import RecordedConfiguration
from profilers.recordings.replay import ReplayEvaluator
from profilers.recordings.t4 import load_recording, write_recording
from profilers.recordings.t4_result import record_from_json, record_to_json

SPACE = TunableSpace(
    tunables={"A": Tunable(values=(1, 2, 3, 4), default=1), "B": Tunable(values=(0, 1), default=0)},
    where=("A * B <= n",),
)


def _task() -> KernelTask:
    return KernelTask(
        name="t",
        baseline=Candidate(source="// code", tunables=SPACE.default()),
        reference="r",
        buffers=(Buffer(name="y", role="output", shape=("n",)),),
        workloads=(
            Workload(name="main", shape={"n": 8}),
            Workload(name="small", shape={"n": 3}, weight=0),
        ),
        space=SPACE,
    )


class Memory(Evaluator):
    """An evaluator whose device is arithmetic: A = 3 does not compile."""

    name = "memory"
    hardware = Hardware(name="arithmetic")

    def __init__(self, *, break_after: int | None = None) -> None:
        self.task = _task()
        self.seen: list[dict[str, object]] = []
        self.batches: list[int] = []
        self._lock = threading.Lock()
        self._break_after = break_after

    def evaluate(self, candidate: Candidate) -> Evaluation:
        with self._lock:
            self.seen.append(dict(candidate.tunables))
            if self._break_after is not None and len(self.seen) > self._break_after:
                raise WorldError("the GPU is gone")
        if candidate.tunables["A"] == 3:
            return Evaluation(candidate_id=candidate.id, status="compile_failed", message="three")
        us = 100.0 / int(candidate.tunables["A"])
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=2, max_error=1e-9, worst_ratio=0.1),
            timing=Timing(
                median_us=us, low_us=us, high_us=us, baseline_us=100, speedup=100 / us,
                speedup_low=100 / us, speedup_high=100 / us, rounds=3, samples_us=(us, us, us),
            ),
        )  # fmt: skip

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return self.profile_many([candidate])[0]

    def profile_many(self, candidates: list[Candidate]) -> list[Profile]:
        self.batches.append(len(candidates))
        metrics = {m.SM: Metric(value=100 / 3, unit="%")}
        kernel = KernelProfile(name="k", metrics=metrics)
        return [Profile(kernels=(kernel, kernel)) for _ in candidates]

    def close(self) -> None:
        pass


def test_every_allowed_configuration_is_recorded_in_order() -> None:
    device = Memory()
    recording = record(_task(), device)
    configurations = [r.configuration for r in recording.configurations]
    assert configurations == [
        {"A": 1, "B": 0},
        {"A": 1, "B": 1},
        {"A": 2, "B": 0},
        {"A": 2, "B": 1},
        {"A": 3, "B": 0},
        {"A": 3, "B": 1},
        {"A": 4, "B": 0},
    ], "A = 4 with B = 1 is excluded on the small workload"
    assert len(device.seen) == 7
    assert recording.task_id == _task().id
    assert recording.summary().failed == {"compile_failed": 2}
    assert recording.summary().best_speedup == pytest.approx(4)


def test_launches_of_one_kernel_are_told_apart() -> None:
    found = record(_task(), Memory()).configurations[0]
    assert list(found.metrics) == ["k", "k#2"]
    assert found.metrics["k"][m.SM].value == 33.333


def test_a_recording_survives_its_file(tmp_path: Path) -> None:
    recording = record(_task(), Memory())
    path = tmp_path / "t.json.gz"
    write_recording(path, recording)
    assert load_recording(path) == recording
    replay = ReplayEvaluator(_task(), load_recording(path))
    best = Candidate(source="// code", tunables={"A": 4, "B": 0})
    assert replay.evaluate(best).speedup == pytest.approx(4)


def test_a_world_error_stops_and_a_second_run_goes_on() -> None:
    spool: dict[object, RecordedConfiguration] = {}

    def keep(result: RecordedConfiguration) -> None:
        spool[result.key] = result

    with pytest.raises(WorldError, match="gone"):
        record(_task(), Memory(break_after=3), parallel=1, on_result=keep)
    assert len(spool) == 3, "what was measured before the break is handed over"
    device = Memory()
    recording = record(_task(), device, on_result=keep, done=dict(spool))  # type: ignore[arg-type]
    assert len(recording.configurations) == 7
    assert len(device.seen) == 4, "nothing is measured twice"


def test_a_finished_recording_measures_nothing_again() -> None:
    done = {r.key: r for r in record(_task(), Memory()).configurations}
    device = Memory()
    record(_task(), device, done=done)
    assert device.seen == []
    assert device.batches == []


def test_limit_keeps_the_baseline_and_repeats() -> None:
    first = record(_task(), Memory(), limit=3, profile=False)
    again = record(_task(), Memory(), limit=3, profile=False)
    keys = [r.key for r in first.configurations]
    assert len(keys) == 3
    assert keys == [r.key for r in again.configurations]
    assert first.configurations[0].configuration == SPACE.default()
    assert first.configurations[0].metrics == {}


def test_progress_counts_up() -> None:
    steps: list[Progress] = []
    record(_task(), Memory(), on_progress=steps.append)
    measuring = [step for step in steps if step.stage == "measure"]
    assert [step.done for step in measuring] == list(range(1, 8))
    assert measuring[-1].failed == 2
    assert steps[-1] == Progress("profile", 5, 5)


def test_a_failing_baseline_is_an_input_error() -> None:
    broken = _task().model_copy(
        update={"baseline": Candidate(source="// code", tunables={"A": 3, "B": 0})}
    )
    with pytest.raises(InputError, match="baseline of task 't' failed: three"):
        record(broken, Memory(), space=SPACE)


def test_the_number_of_launches_is_kept_through_a_file() -> None:
    metric = {m.DURATION: Metric(value=2000.0, unit="ns")}
    profile = Profile(
        kernels=(
            KernelProfile(name="step", launches=24, metrics=metric),
            KernelProfile(name="last", metrics=metric),
        )
    )
    bare = RecordedConfiguration(configuration={"N": 1}, status="measured", runtimes_us=(50.0,))
    kept = record_from_json(record_to_json(with_profile(bare, profile)))
    assert kept.launches == {"step": 24}
    assert set(kept.metrics) == {"step", "last"} and set(kept.metrics["step"]) == {m.DURATION}
