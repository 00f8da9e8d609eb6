"""A stopped recording goes on where it was."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import pytest

from experiments.cli.commands.record import ProgressLines
from experiments.runs.folders.partial_recording import PartialRecording
from experiments.runs.tasks.files import load_task
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError
from profilers.recordings.recorder import Progress, record
from profilers.recordings.recording import RecordedConfiguration
from profilers.recordings.replay import ReplayEvaluator
from profilers.recordings.t4 import load_recording


class Stopped(Exception):
    pass


class Counting(ReplayEvaluator):
    """Counts what it is asked."""

    asked = 0

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.asked += 1
        return super().evaluate(candidate)


def test_what_was_measured_before_a_stop_is_not_measured_again(toy_folder: Path) -> None:
    task = load_task(toy_folder)
    source = load_recording(toy_folder / "recordings" / "paper.json.gz")
    target = toy_folder / "again.json.gz"
    evaluator = Counting(task, source)

    with pytest.raises(Stopped), PartialRecording(target, task, "Paper GPU") as partial:
        kept = []

        def stop_after_five(found: RecordedConfiguration) -> None:
            partial.keep(found)
            kept.append(found)
            if len(kept) == 5:
                raise Stopped

        record(task, evaluator, parallel=1, profile=False, on_result=stop_after_five)

    with partial.path.open("a") as stream:
        stream.write('{"configuration": {"BLO')
    asked_before = evaluator.asked
    with PartialRecording(target, task, "Paper GPU") as partial:
        done = len(partial.done)
        assert done == 5
        whole = record(task, evaluator, parallel=1, profile=False, done=partial.done)
        partial.discard()
    assert evaluator.asked - asked_before == len(whole.configurations) - done
    assert not partial.path.exists()


def test_a_partial_recording_of_another_gpu_is_refused(toy_folder: Path) -> None:
    task = load_task(toy_folder)
    with PartialRecording(toy_folder / "r.json", task, "Paper GPU"):
        pass
    with pytest.raises(InputError, match="another GPU"):
        PartialRecording(toy_folder / "r.json", task, "Slate GPU")


def test_one_process_at_a_time_records_to_a_file(toy_folder: Path) -> None:
    task, target = load_task(toy_folder), toy_folder / "r.json"
    in_use = pytest.raises(InputError, match=r"r\.json\.partial is in use by another rooftree")
    with PartialRecording(target, task, "Paper GPU"), in_use:
        PartialRecording(target, task, "Paper GPU")
    with PartialRecording(target, task, "Paper GPU") as partial:
        partial.discard()
    with PartialRecording(target, task, "Paper GPU") as partial:
        assert partial.path.is_file()


@pytest.mark.parametrize("content", [b"my notes\nline two, without an end", b"\xff\nand more"])
def test_a_file_of_something_else_stays_as_it_is(toy_folder: Path, content: bytes) -> None:
    (toy_folder / "r.json.partial").write_bytes(content)
    with pytest.raises(InputError, match="to record anew"):
        PartialRecording(toy_folder / "r.json", load_task(toy_folder), "Paper GPU")
    assert (toy_folder / "r.json.partial").read_bytes() == content


def test_a_file_system_without_locks_is_recorded_to(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with PartialRecording(toy_folder / "r.json", load_task(toy_folder), "Paper GPU") as partial:
        assert partial.path.stat().st_size


def test_a_torn_line_is_cut_off_and_the_rest_stays_where_it_is(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written anew, which a kill could cut short."""
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: pytest.fail("written anew"))
    task, target = load_task(toy_folder), toy_folder / "r.json"
    with PartialRecording(target, task, "Paper GPU") as partial:
        path = partial.path
    head = path.read_bytes()
    with path.open("ab") as stream:
        stream.write(b'{"configuration": "\xc3\xa4')
    with PartialRecording(target, task, "Paper GPU"):
        assert path.read_bytes() == head


def test_a_recording_tells_of_itself_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    say = ProgressLines(clock=lambda: now[0])
    for done in range(1, 11):
        now[0] += 0.7
        say(Progress(stage="measure", done=done, total=10, failed=done // 5))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "measure 1/10",
        "measure 4/10",
        "measure 7/10, 1 failed",
        "measure 10/10, 2 failed",
    ]
