"""Several shapes are stored and replayed one by one; old recordings still open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mcts.domain import Candidate, Evaluation, KernelTask, Workload
from mcts.domain import metrics as m
from mcts.errors import InputError, NotRecorded
from profilers.cuda.timing import Measured, timing_of
from profilers.recordings.recorder import record
from profilers.recordings.recording import RecordedShape, Recording
from profilers.recordings.replay import ReplayEvaluator, task_from_recording
from profilers.recordings.t4 import load_recording, write_recording
from tests.profilers.cuda.test_timing import measured
from tests.profilers.recordings.test_recorder import Memory
from tests.profilers.recordings.test_recorder import _task as plain_task


def shaped_task(wide: float = 3.0, narrow: float = 1.0) -> KernelTask:
    return plain_task().model_copy(
        update={
            "workloads": (
                Workload(name="wide", shape={"n": 8}, weight=wide),
                Workload(name="narrow@2", shape={"n": 4}, weight=narrow),
            )
        }
    )


def time_us(tunables: Mapping[str, object]) -> dict[str, float]:
    """A makes `wide` faster and `narrow@2` slower; 100 each at the baseline."""
    a = int(str(tunables["A"]))
    return {"wide": 100.0 / a, "narrow@2": 100.0 * (1 + 0.1 * (a - 1))}


class TwoShapes(Memory):
    """The device of `test_recorder` with two timed workloads."""

    def __init__(self) -> None:
        super().__init__()
        self.task = shaped_task()

    def evaluate(self, candidate: Candidate) -> Evaluation:
        found = super().evaluate(candidate)
        if not found.measured:
            return found
        seen: list[Measured] = measured(self.task, time_us(candidate.tunables))
        return found.model_copy(update={"timing": timing_of(self.task, candidate.id, seen)})


@pytest.fixture
def recording() -> Recording:
    return record(shaped_task(), TwoShapes())


def candidate(a: int) -> Candidate:
    return Candidate(source="// code", tunables={"A": a, "B": 0})


def test_each_shape_is_kept_through_a_file(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_recording(path, recording)
    again = load_recording(path)
    assert again == replace(recording, origin="t.json")
    found = again.find({"A": 2, "B": 0})
    assert found is not None and [shape.workload for shape in found.shapes] == ["wide", "narrow@2"]
    assert found.shapes[0] == RecordedShape(workload="wide", weight=0.75, runtimes_us=(50.0,) * 24)
    assert found.runtimes_us == found.shapes[0].runtimes_us, "what other tools read"
    assert found.time_us == pytest.approx(0.75 * 50 + 0.25 * 110)
    assert set(found.metrics["k"]) == {m.SM} and len(found.metrics) == 2
    result = json.loads(path.read_text())["results"][2]
    told = {item["name"]: (item["value"], item["unit"]) for item in result["measurements"]}
    assert told["time"] == (pytest.approx(65.0), "us")
    assert told["rooftree.time_us@narrow@2"] == (pytest.approx(110.0), "us")
    assert told["rooftree.weight@wide"] == (0.75, "")
    assert len(result["times"]["rooftree.runtimes@wide"]) == 24


def test_the_best_configuration_has_the_lowest_weighted_latency(recording: Recording) -> None:
    summary = recording.summary()
    assert summary.baseline_us == pytest.approx(100)
    assert summary.best == {"A": 4, "B": 0} and summary.best_us == pytest.approx(51.25)


def test_a_replay_answers_with_shapes(recording: Recording) -> None:
    replay = ReplayEvaluator(shaped_task(), recording)
    found = replay.evaluate(candidate(2))
    timing = found.timing
    assert timing is not None and found.notes == ()
    assert [(s.workload, s.weight) for s in timing.shapes] == [("wide", 0.75), ("narrow@2", 0.25)]
    assert timing.median_us == pytest.approx(65) and timing.speedup == pytest.approx(100 / 65)
    assert timing.shapes[1].speedup == pytest.approx(100 / 110)
    assert timing.regressions == found.held_back == ("narrow@2",)
    assert replay.evaluate(candidate(1)).held_back == ()
    confirmed = replay.confirm(candidate(2), found)
    assert confirmed.timing is not None and confirmed.timing.shapes
    assert replay.evaluate(candidate(2)) == found
    assert Evaluation.model_validate_json(found.model_dump_json()) == found


def test_shapes_are_drawn_with_their_own_noise(recording: Recording) -> None:
    times = tuple(100.0 + step for step in range(24))
    noisy = [
        replace(r, shapes=tuple(replace(shape, runtimes_us=times) for shape in r.shapes))
        for r in recording.configurations
    ]
    replay = ReplayEvaluator(shaped_task(), replace(recording, configurations=tuple(noisy)))
    timing = replay.evaluate(candidate(2)).timing
    assert timing is not None
    wide, narrow = timing.shapes
    assert wide.samples_us != narrow.samples_us and set(wide.samples_us) <= set(times)
    assert timing.speedup_low < timing.speedup < timing.speedup_high
    assert timing.low_us < timing.median_us < timing.high_us


def test_the_roofline_is_that_of_the_heaviest_workload(recording: Recording) -> None:
    replay = ReplayEvaluator(shaped_task(), recording)
    found = replay.evaluate(candidate(2))
    assert found.timing is not None
    heavy = found.timing.heaviest
    alone = found.timing.model_copy(
        update={"median_us": heavy.median_us, "low_us": 1.0, "shapes": ()}
    )
    one = found.model_copy(update={"timing": alone})
    assert replay.profile(candidate(2), found) == replay.profile(candidate(2), one)


def old(recording: Recording) -> Recording:
    """What was recorded of the same task when only the heaviest workload was timed."""
    bare = tuple(replace(record, shapes=()) for record in recording.configurations)
    return replace(recording, configurations=bare)


def test_an_old_recording_of_one_shape_is_replayed_with_a_note(recording: Recording) -> None:
    found = ReplayEvaluator(shaped_task(), old(recording)).evaluate(candidate(2))
    assert found.timing is not None and found.timing.shapes == ()
    assert found.timing.speedup == pytest.approx(2), "of the heaviest workload"
    assert found.notes == ("t.json.gz holds times of workload wide alone",)


def test_a_configuration_whose_shapes_were_not_recorded_is_not_recorded(
    recording: Recording,
) -> None:
    mixed = tuple(
        replace(record, shapes=()) if record.configuration["A"] == 4 else record
        for record in recording.configurations
    )
    replay = ReplayEvaluator(shaped_task(), replace(recording, configurations=mixed))
    assert replay.evaluate(candidate(2)).measured
    with pytest.raises(NotRecorded, match="no times of A=4, B=0 on workload narrow@2"):
        replay.evaluate(candidate(4))


def test_a_replay_uses_the_weights_of_the_task(recording: Recording) -> None:
    task = shaped_task(wide=1, narrow=1)
    with pytest.raises(InputError, match="another state"):
        ReplayEvaluator(task, recording)
    of_task = replace(recording, task_id=task.id)
    timing = ReplayEvaluator(task, of_task).evaluate(candidate(2)).timing
    assert timing is not None and timing.median_us == pytest.approx(80)


def test_a_recorded_space_of_several_shapes_has_their_weights(recording: Recording) -> None:
    timing = ReplayEvaluator(task_from_recording(recording), recording).evaluate(
        Candidate(tunables={"A": 2, "B": 0})
    ).timing  # fmt: skip
    assert timing is not None and [shape.weight for shape in timing.shapes] == [0.75, 0.25]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda result: result["times"].update({"rooftree.runtimes@wide": []}),
        lambda result: result["times"].update({"rooftree.runtimes@other": [1.0]}),
        lambda result: result.update(
            measurements=[i for i in result["measurements"] if "weight@wide" not in i["name"]]
        ),
    ],
)
def test_a_damaged_shape_names_its_place(
    spoil: object, recording: Recording, tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    write_recording(path, recording)
    document = json.loads(path.read_text())
    spoil(document["results"][2])  # type: ignore[operator]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"t.json: results\[2\]: the shape '(wide|other)' has no"):
        load_recording(path)
