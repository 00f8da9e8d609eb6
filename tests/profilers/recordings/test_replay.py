"""The replay answers what was recorded, with the recorded noise, and nothing else."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from mcts.domain import (
    Buffer,
    Candidate,
    Energy,
    Hardware,
    KernelTask,
    Metric,
    SassFacts,
    Status,
    Workload,
)
from mcts.domain import metrics as m
from mcts.domain.metrics import DURATION
from mcts.errors import InputError, NotRecorded
from mcts.ports import Evaluator
from mcts.testing.evaluators import EvaluatorContract
from profilers.ncu.metrics import COLLECTED
from profilers.recordings.recording import RecordedConfiguration, Recording, natural_values
from profilers.recordings.replay import ReplayEvaluator, task_from_recording

SOURCE = "// code"
FAILURES: tuple[Status, ...] = ("compile_failed", "wrong_result", "runtime_error", "timed_out")


def _measured(block: int, around_us: float) -> RecordedConfiguration:
    return RecordedConfiguration(
        configuration={"BLOCK": block},
        status="measured",
        runtimes_us=tuple(around_us * (1 + step / 1000) for step in range(-15, 16)),
        verification_rounds=3,
        compile_seconds=0.01,
        metrics={"k": {m.SM: Metric(value=50, unit="%"), DURATION: Metric(value=1, unit="ns")}},
        sass={"k": SassFacts(instructions=10, registers=32)},
    )


def _recording(task_id: str | None = None) -> Recording:
    records = [_measured(64, 100), _measured(128, 50), _measured(256, 200)]
    records += [
        RecordedConfiguration(configuration={"BLOCK": 512 + i}, status=status, message="why")
        for i, status in enumerate(FAILURES)
    ]
    return Recording(
        origin="t.json.gz",
        hardware=Hardware(name="GPU"),
        recorded_on="2026-01-02",
        tunables=natural_values(record.configuration for record in records),
        configurations=tuple(records),
        task_name="t",
        task_id=task_id,
        baseline={"BLOCK": 64},
    )


def _task() -> KernelTask:
    return KernelTask(
        name="t",
        baseline=Candidate(source=SOURCE, tunables={"BLOCK": 64}),
        reference="r",
        buffers=(Buffer(name="y", role="output", shape=("n",)),),
        workloads=(Workload(name="main", shape={"n": 8}),),
    )


@pytest.fixture
def replay() -> ReplayEvaluator:
    task = _task()
    return ReplayEvaluator(task, _recording(task.id), seed=3)


def _candidate(block: int, source: str = SOURCE) -> Candidate:
    return Candidate(source=source, tunables={"BLOCK": block})


class TestContract(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, replay: ReplayEvaluator) -> Evaluator:
        return replay

    @pytest.fixture
    def working(self) -> Candidate:
        return _candidate(128)

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {str(status): _candidate(512 + i) for i, status in enumerate(FAILURES)}


def test_a_recording_of_another_task_or_another_state_is_refused() -> None:
    task = _task()
    with pytest.raises(InputError, match="another state of task 't'"):
        ReplayEvaluator(task, _recording("task-before"))
    other = replace(_recording("task-other"), task_name="u")
    with pytest.raises(InputError, match="a recording of task 'u', not of 't'"):
        ReplayEvaluator(task, other)


def test_it_says_that_it_replays(replay: ReplayEvaluator) -> None:
    assert replay.name == "replay"
    assert str(replay.hardware) == "GPU (recorded 2026-01-02, replayed)"


def test_times_are_drawn_from_the_recorded_ones(replay: ReplayEvaluator) -> None:
    timing = replay.evaluate(_candidate(128)).timing
    assert timing is not None
    recorded = replay._recording.find({"BLOCK": 128})
    assert recorded is not None
    assert set(timing.samples_us) <= set(recorded.runtimes_us)
    assert timing.speedup == pytest.approx(2, rel=0.02)
    assert timing.speedup_low <= timing.speedup <= timing.speedup_high
    assert timing.baseline_us == statistics.median(timing.baseline_samples_us)


def test_the_seed_decides_the_noise(replay: ReplayEvaluator) -> None:
    again, other = (ReplayEvaluator(_task(), _recording(_task().id), seed=seed) for seed in (3, 4))
    found = replay.evaluate(_candidate(128))
    assert found == again.evaluate(_candidate(128))
    assert found.timing != other.evaluate(_candidate(128)).timing


def test_a_suspect_variant_stays_a_failure() -> None:
    whole = _recording(_task().id)
    odd = RecordedConfiguration(
        configuration={"BLOCK": 7}, status="suspect", message="events and host clock disagree"
    )
    recording = replace(whole, configurations=(*whole.configurations, odd))
    evaluation = ReplayEvaluator(_task(), recording).evaluate(_candidate(7))
    assert evaluation.status == "wrong_result"
    assert evaluation.message == "events and host clock disagree"


def test_other_source_is_not_recorded(replay: ReplayEvaluator) -> None:
    with pytest.raises(NotRecorded, match="source"):
        replay.evaluate(_candidate(64, source="// other code"))
    assert replay.evaluate(_candidate(64, source=SOURCE + "  \n")).measured


def test_other_tunables_are_not_recorded(replay: ReplayEvaluator) -> None:
    with pytest.raises(NotRecorded, match="BLOCK=7"):
        replay.evaluate(_candidate(7))


def test_a_confirmation_draws_anew_from_the_whole_sample(replay: ReplayEvaluator) -> None:
    candidate = _candidate(128)
    searched = replay.evaluate(candidate)
    confirmed = replay.confirm(candidate, searched)
    assert confirmed.timing is not None and searched.timing is not None
    assert confirmed.timing.samples_us != searched.timing.samples_us
    assert confirmed.timing.baseline_samples_us != searched.timing.baseline_samples_us
    assert len(confirmed.timing.samples_us) == len(searched.timing.samples_us)
    assert confirmed == replay.confirm(candidate, searched), "the same question, the same answer"
    assert replay.evaluate(candidate) == searched


def test_the_best_of_many_equals_looks_faster_until_it_is_confirmed() -> None:
    records = tuple(_measured(64 * k, 100) for k in range(1, 32))
    whole = replace(_recording(_task().id), configurations=records)
    candidates = [_candidate(64 * k) for k in range(2, 32)]
    searched, confirmed = [], []
    for seed in range(20):
        replay = ReplayEvaluator(_task(), whole, seed=seed)
        found = [replay.evaluate(candidate) for candidate in candidates]
        best = max(range(30), key=lambda k: found[k].speedup or 0.0)
        searched.append(found[best].speedup or 0.0)
        confirmed.append(replay.confirm(candidates[best], found[best]).speedup or 0.0)
    assert statistics.fmean(searched) > 1.005
    assert statistics.fmean(confirmed) == pytest.approx(1.0, abs=0.003)


def _with_energy(*blocks: int) -> ReplayEvaluator:
    def given(record: RecordedConfiguration) -> RecordedConfiguration:
        block = record.configuration["BLOCK"]
        if block not in blocks:
            return record
        energy = Energy(energy_mj=block, low_mj=block * 0.9, high_mj=block * 1.1, window_s=1.0)
        return replace(record, energy=energy)

    whole = _recording(_task().id)
    records = tuple(given(record) for record in whole.configurations)
    return ReplayEvaluator(_task(), replace(whole, configurations=records))


def test_recorded_energy_stands_beside_the_baselines() -> None:
    replay, candidate = _with_energy(64, 128), _candidate(128)
    energy = replay.measure_energy(candidate, replay.evaluate(candidate)).energy
    assert energy is not None
    assert (energy.energy_mj, energy.baseline_mj) == (128, 64)


@pytest.mark.parametrize(
    ("blocks", "note"), [((64,), "of this configuration"), ((128,), "of the baseline"), ((), "")]
)
def test_energy_that_was_not_recorded_is_a_note(blocks: tuple[int, ...], note: str) -> None:
    replay, candidate = _with_energy(*blocks), _candidate(128)
    found = replay.measure_energy(candidate, replay.evaluate(candidate))
    assert note in found.notes[-1]
    assert found.energy is None or found.energy.baseline_mj is None


def test_profile_is_what_was_recorded(replay: ReplayEvaluator) -> None:
    candidate = _candidate(128)
    profile = replay.profile(candidate, replay.evaluate(candidate))
    assert profile.dominant is not None
    assert profile.dominant.value(m.SM) == 50
    assert profile.dominant.sass is not None
    assert profile.roofline is not None
    assert set(profile.missing) == set(COLLECTED) - {m.SM, DURATION}


def test_a_recording_of_another_task_state_is_refused() -> None:
    with pytest.raises(InputError, match="re-record"):
        ReplayEvaluator(_task(), _recording("task-other"))


def _bare() -> Recording:
    whole = _recording()
    return Recording(
        origin="space.json",
        hardware=whole.hardware,
        recorded_on=whole.recorded_on,
        tunables=whole.tunables,
        configurations=tuple(
            RecordedConfiguration(
                configuration=r.configuration, status=r.status, message=r.message,
                runtimes_us=r.runtimes_us[:1],
            )
            for r in whole.configurations
        ),
        task_name="space",
    )  # fmt: skip


def test_the_space_itself_as_a_task() -> None:
    task = task_from_recording(_bare())
    assert task.dialect == "space"
    assert task.baseline.tunables == {"BLOCK": 64}, "the configuration of median time"
    assert task.space.tunables["BLOCK"].values == (64, 128, 256, 512, 513, 514, 515)
    assert len(list(task.space.configurations({}))) == 7


def test_one_runtime_and_no_profile_is_enough() -> None:
    task = task_from_recording(_bare())
    replay = ReplayEvaluator(task, _bare())
    candidate = Candidate(tunables={"BLOCK": 128})
    evaluation = replay.evaluate(candidate)
    assert evaluation.timing is not None
    assert evaluation.timing.speedup == pytest.approx(2)
    assert evaluation.verification is not None
    assert evaluation.verification.detail == "as recorded"
    profile = replay.profile(candidate, evaluation)
    assert profile.kernels == ()
    assert set(profile.missing) == {"ncu", "sass"}


def test_a_recording_with_nothing_measured_is_no_task() -> None:
    bare = _bare()
    failed = tuple(r for r in bare.configurations if not r.measured)
    empty = Recording(
        origin="e.json", hardware=bare.hardware, recorded_on="", tunables=bare.tunables,
        configurations=failed, task_name="e",
    )  # fmt: skip
    with pytest.raises(InputError, match="no configuration was measured"):
        task_from_recording(empty)


def test_values_sort_naturally() -> None:
    values = natural_values([{"a": v} for v in (128, 16, 2.5, "x10", "x9", True)])
    assert values["a"] == (True, 2.5, 16, 128, "x9", "x10")
