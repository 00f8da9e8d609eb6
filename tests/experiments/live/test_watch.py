"""Watching a run from outside: its journal is followed, the search is not touched."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.live.tail import JournalTail
from experiments.live.watching import watch
from experiments.runs.folders.journal import SqliteJournal
from mcts.errors import InputError, JournalError
from mcts.journal.record import Result
from mcts.ports import Event
from tests.experiments.conftest import ListJournal
from tests.support.commands import completed, refused, rooftree

Run = tuple[ListJournal, Result]


class Writer:
    """Plays a finished run into a run folder again, as slowly as is asked for."""

    def __init__(self, folder: Path, events: Iterator[Event]) -> None:
        folder.mkdir(exist_ok=True)
        self.journal = SqliteJournal(folder / "run.sqlite")
        self._events = events

    def write(self, count: int = 1) -> None:
        for event in (event for _, event in zip(range(count), self._events, strict=False)):
            self.journal.append(event.kind, event.payload)

    def write_until(self, kind: str, count: int = 1) -> None:
        for event in self._events:
            self.journal.append(event.kind, event.payload)
            count -= event.kind == kind
            if count == 0:
                return


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a run"


@pytest.fixture
def writer(finished: Run, folder: Path) -> Iterator[Writer]:
    writer = Writer(folder, finished[0].events())
    yield writer
    writer.journal.close()


def seen(folder: Path, steps: list[Callable[[], None]]) -> str:
    """What a watcher prints when between its looks the steps are taken, one each."""
    out, waiting = io.StringIO(), iter(steps)

    def wait(_seconds: float) -> None:
        next(waiting)()

    watch(folder, stream=out, plain=True, wait=wait)
    assert next(waiting, None) is None
    return out.getvalue()


def test_each_event_is_read_once_and_as_it_comes(writer: Writer, folder: Path) -> None:
    tail = JournalTail(folder)
    kinds = []
    for count in (1, 5, 40):
        writer.write(count)
        found = [event.seq for event, _ in tail.until(frozenset())]
        assert len(found) == count
        kinds += found
    assert kinds == list(range(1, 47))
    assert not tail.more()


def test_reading_stops_where_it_is_asked_to_and_goes_on_there(writer: Writer, folder: Path) -> None:
    writer.write_until("told", 3)
    tail = JournalTail(folder)
    parts = []
    while part := [event.kind for event, _ in tail.until(frozenset({"told"}))]:
        parts.append(part)
    assert len(parts) == 3 and all(part[-1] == "told" for part in parts)


def test_a_reader_does_not_keep_the_writer_from_tidying_up(writer: Writer, folder: Path) -> None:
    writer.write(30)
    tail = JournalTail(folder)
    assert tail.more()
    writer.journal.close()
    assert not list(folder.glob("*-wal")), "the writer could not check-point its journal"
    assert not (folder / "run.sqlite-shm").exists()


def test_looking_at_a_finished_run_leaves_its_folder_as_it_is(writer: Writer, folder: Path) -> None:
    writer.write(30)
    writer.journal.close()
    before = sorted(path.name for path in folder.iterdir())
    tail = JournalTail(folder)
    assert len(list(tail.until(frozenset()))) == 30
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_run_that_goes_on_after_its_end_is_followed_again(writer: Writer, folder: Path) -> None:
    writer.write(30)
    writer.journal.close()
    tail = JournalTail(folder)
    assert len(list(tail.until(frozenset()))) == 30
    with SqliteJournal(folder / "run.sqlite") as again:
        again.append("resumed", {})
        assert [event.kind for event, _ in tail.until(frozenset())] == ["resumed"]
    assert not tail.more()


def test_the_tail_knows_whether_a_process_writes(writer: Writer, folder: Path) -> None:
    tail = JournalTail(folder)
    assert tail.is_written() is True
    writer.journal.close()
    assert tail.is_written() is False
    (folder / "run.lock").unlink()
    assert tail.is_written() is False


def test_a_tail_does_not_hold_the_lock(writer: Writer, folder: Path) -> None:
    writer.journal.close()
    tail = JournalTail(folder)
    assert tail.is_written() is False
    SqliteJournal(folder / "run.sqlite").close()


def test_a_watcher_sees_improvements_and_the_end(writer: Writer, folder: Path) -> None:
    writer.write_until("told", 2)

    def finish() -> None:
        writer.write(10_000)
        writer.journal.close()

    text = seen(folder, [lambda: writer.write_until("told", 20), finish])
    lines = text.splitlines()
    assert lines[0] == "watching toy on Paper GPU"
    assert any(line.startswith("+") for line in lines[2:])
    assert "compile_failed" not in lines[0]


def test_a_run_that_stopped_is_watched_while_its_process_still_works(
    writer: Writer, folder: Path
) -> None:
    writer.write_until("told", 2)
    looks = []

    def stop() -> None:
        writer.journal.append("stopped", {"reason": "evaluations spent", "elapsed_s": 1.0})

    seen(folder, [stop, lambda: looks.append("still there"), writer.journal.close])
    assert looks == ["still there"]


def test_a_run_that_has_not_begun_can_be_watched(writer: Writer, folder: Path) -> None:
    def finish() -> None:
        writer.write(10_000)
        writer.journal.close()

    assert seen(folder, [lambda: None, finish]).startswith("watching a run that has not begun")


# The command.


def test_a_finished_run_is_told_at_once(writer: Writer, folder: Path, finished: Run) -> None:
    writer.write(10_000)
    writer.journal.close()
    text = completed("watch", folder).output
    best = finished[1].best
    assert "the search is over: evaluations spent" in text
    assert f"best: {best.speedup:.2f}x, node {best.id}; 40 trials" in text
    assert f"rooftree report '{folder}'" in text and "resume" not in text


def test_a_crashed_run_is_told_as_crashed(
    writer: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.live.watching._SILENT_S", 0.0)
    writer.write_until("told", 5)
    writer.journal.close()
    done = rooftree("watch", folder, "--plain")
    assert done.exit_code == 1
    assert "it crashed or was killed" in done.output
    assert f"go on with: rooftree resume '{folder}'" in done.output
    assert "4 trials" in done.output


def test_an_interrupted_run_says_how_to_go_on(writer: Writer, folder: Path) -> None:
    writer.write_until("told", 5)
    writer.journal.append("stopped", {"reason": "interrupted", "elapsed_s": 1.0})
    writer.journal.close()
    text = completed("watch", folder).output
    assert "the search is over: interrupted" in text and "rooftree resume" in text


def test_ctrl_c_ends_the_watching_alone(
    writer: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object, **_more: object) -> None:
        raise KeyboardInterrupt

    writer.write_until("told", 5)
    monkeypatch.setattr("experiments.cli.commands.watch.follow", interrupt)
    assert completed("watch", folder).output == "no longer watching; the search goes on\n"


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        JournalTail(tmp_path)
    (tmp_path / "run.sqlite").write_bytes(b"no database at all, whatever it is named" * 50)
    with pytest.raises(InputError, match="is not a database"):
        JournalTail(tmp_path).more()


def test_a_damaged_event_is_named(writer: Writer, folder: Path) -> None:
    writer.journal.append("told", {"trial": 1})
    with pytest.raises(JournalError, match="damaged"):
        watch(folder, stream=io.StringIO(), plain=True)


def test_plain_and_quiet_exclude_each_other(tmp_path: Path) -> None:
    done = rooftree("optimize", "row_softmax", "--plain", "--quiet", "--out", tmp_path / "r")
    refused(done, "exclude each other")
    assert not (tmp_path / "r").exists()


def test_quiet_says_nothing_but_the_result(toy_folder: Path, tmp_path: Path) -> None:
    done = completed("optimize", toy_folder, "--evaluations", 5, "--out", tmp_path / "r", "-q")
    assert done.stderr == ""
    assert "run folder" not in done.stdout.splitlines()[0]
    assert "report" in done.stdout
    again = completed("resume", tmp_path / "r", "--evaluations", 7, "--plain", "--json")
    assert "7/7" in again.stderr
    assert again.stdout.startswith("{")
