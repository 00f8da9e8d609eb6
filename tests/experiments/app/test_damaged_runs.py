"""A run that has lost a part of itself: nothing is overwritten, and what to do is said."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from experiments.live.tail import JournalTail
from experiments.runs.folders import journal_file
from experiments.runs.folders.journal import DATABASE, SqliteJournal, read_events
from mcts.errors import JournalError
from mcts.journal.record import read_result
from mcts.ports import Event
from tests.support.commands import (
    completed,
    failed,
    json_of,
    optimize,
    optimized,
    refused,
    rooftree,
)


@pytest.fixture
def run(toy_folder: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    optimized(toy_folder, out, "--evaluations", 4)
    return out


def whole(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "run.lock"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def lose_results(run: Path) -> None:
    shutil.rmtree(run / "best")
    for name in ("report.html", "tree.svg", "tree.dot"):
        (run / name).unlink(missing_ok=True)


def emptied(journal: Path) -> None:
    journal.write_bytes(b"")


def without_events(journal: Path) -> None:
    with sqlite3.connect(journal) as connection:
        connection.execute("DELETE FROM event")
    connection.close()


LOSSES = pytest.mark.parametrize("lose", [Path.unlink, emptied, without_events])


@LOSSES
def test_a_run_that_lost_its_journal_is_not_started_again(
    run: Path, lose: Callable[[Path], None]
) -> None:
    lose(run / "run.sqlite")
    before = whole(run)
    done = rooftree("resume", run)
    refused(done, f"the journal of {run} is lost, though it has results: run.sqlite is empty or",
            "put a copy of it back, or start a new run")  # fmt: skip
    assert whole(run) == before


@pytest.mark.parametrize("left", ["best", "report.html", "tree.svg"])
def test_one_result_file_is_enough_to_refuse(run: Path, left: str) -> None:
    (run / "run.sqlite").unlink()
    lose_results(run)
    (run / left).touch()
    refused(rooftree("resume", run), "is empty or gone")


def test_a_log_beside_an_empty_journal_is_not_thrown_away(run: Path) -> None:
    """As a crash leaves them: the events are in the log, and somebody empties the file itself."""
    lose_results(run)
    emptied(run / "run.sqlite")
    (run / "run.sqlite-wal").write_bytes(b"events")
    refused(rooftree("resume", run), "is empty or gone", "a part of it is left")
    assert (run / "run.sqlite-wal").read_bytes() == b"events"


@LOSSES
def test_a_run_killed_before_its_journal_began_is_resumed(
    run: Path, lose: Callable[[Path], None]
) -> None:
    digest = read_result(read_events(run)).tree_digest
    lose_results(run)
    lose(run / "run.sqlite")
    assert json_of("resume", run)["tree_digest"] == digest
    assert (run / "best").is_dir()


def test_a_run_without_its_task_says_what_is_gone(run: Path) -> None:
    shutil.rmtree(run / "task")
    before = whole(run)
    done = rooftree("resume", run, "--evaluations", 6)
    refused(done, f"{run} is damaged: its folder task is gone; put it back, or start a new run")
    assert whole(run) == before


def faster(run: Path) -> tuple[int, int]:
    """Divide a measured median by ten; returns that event's number and that of the last event."""
    with closing(sqlite3.connect(run / "run.sqlite")) as connection:
        seq, payload = connection.execute(
            "SELECT seq, payload FROM event WHERE kind = 'measured' ORDER BY seq DESC"
        ).fetchone()
        content = json.loads(payload)
        content["evaluation"]["timing"]["median_us"] /= 10
        connection.execute("UPDATE event SET payload = ? WHERE seq = ?", (json.dumps(content), seq))
        (last,) = connection.execute("SELECT max(seq) FROM event").fetchone()
        connection.commit()
    return seq, last


def overwritten_pages(run: Path) -> None:
    """Fill the second half of the file with noise, as a bad disk might."""
    path = run / "run.sqlite"
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:half] + b"\x5a" * (len(content) - half))


def test_a_changed_figure_is_reported_by_nobody_and_what_is_before_it_goes_on(
    run: Path, tmp_path: Path
) -> None:
    digest = read_result(read_events(run)).tree_digest
    seq, _ = faster(run)
    before, new = whole(run), tmp_path / "new run"
    for words in (["explain"], ["report"], ["resume"], ["tree"], ["watch"], ["attribute"]):
        again = f"go on from events 1 to {seq - 1} with: rooftree recover {run} NEW_RUN"
        refused(rooftree(*words, run), f"{run}/run.sqlite is damaged (event {seq} (meas", again)
    assert whole(run) == before
    said = completed("recover", run, new).stdout
    assert f"events 1 to {seq - 1} of {run}" in said
    assert f"rooftree resume '{new}'" in said
    assert whole(run) == before
    assert len(read_events(new)) == seq - 1
    completed("report", new)
    assert json_of("resume", new)["tree_digest"] == digest
    completed("explain", new)


def test_a_journal_with_malformed_pages_is_recovered_as_far_as_it_can_be_read(
    toy_folder: Path, tmp_path: Path
) -> None:
    run, new = tmp_path / "run", tmp_path / "new"
    optimized(toy_folder, run, "--evaluations", 12)
    digest = read_result(read_events(run)).tree_digest
    overwritten_pages(run)
    refused(rooftree("report", run), f"{run}/run.sqlite is damaged (behind event ",
            f"rooftree recover {run} NEW_RUN")  # fmt: skip
    completed("recover", run, new)
    assert len(read_events(new)) > 2
    assert json_of("resume", new)["tree_digest"] == digest


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_a_journal_whose_end_is_missing_is_recovered_as_far_as_it_goes(
    toy_folder: Path, tmp_path: Path, share: float, log: bool
) -> None:
    run, new = tmp_path / "run", tmp_path / "new"
    optimized(toy_folder, run, "--evaluations", 12)
    events = read_events(run)
    digest, journal = read_result(events).tree_digest, run / "run.sqlite"
    missing = int(journal.stat().st_size * share)
    os.truncate(journal, journal.stat().st_size - missing)
    if log:
        (run / "run.sqlite-wal").touch()  # as a run that was killed leaves it
    before = whole(run)
    for words in (["report"], ["watch"], ["resume"]):
        refused(rooftree(*words, run), f"the end of its file is missing, {missing:,} bytes",
                f"rooftree recover {run} NEW_RUN")  # fmt: skip
    assert f"the end of its file is missing, {missing:,} b" in completed("recover", run, new).stdout
    assert whole(run) == before
    left = read_events(new)
    assert 2 < len(left) < len(events) and left == events[: len(left)]
    assert json_of("resume", new)["tree_digest"] == digest


def garbled(journal: Path) -> None:
    journal.write_bytes(b"\x5a" * 8192)


@pytest.mark.parametrize("lose", [Path.unlink, emptied, garbled])
def test_every_command_says_of_a_lost_journal_what_to_do(
    run: Path, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    lose(run / "run.sqlite")
    how = {Path.unlink: "is gone", emptied: "holds no journal", garbled: "is not a database"}[lose]
    said = f"the journal of {run} is lost, though it has results: run.sqlite "
    new = tmp_path / "new"
    refused(rooftree("report", run), f"{said}{how}; put a copy of it back")
    reading = [["resume", run], ["tree", run], ["explain", run], ["attribute", run]]
    for words in (*reading, ["watch", run], ["export", run, new], ["recover", run, new]):
        refused(rooftree(*words), said, "; put a copy of it back, or start a new run")
    assert not new.exists()


def test_a_folder_with_a_picture_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree.svg").touch()
    monkeypatch.chdir(tmp_path)
    for name in (tmp_path, "."):
        refused(rooftree("report", name), "is not a run folder: it has no run.sqlite")


def test_what_cannot_be_recovered_is_said_and_nothing_is_made(run: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    refused(rooftree("recover", run, new), "is sound, all", "nothing to recover")
    refused(rooftree("recover", tmp_path / "none", new), "not a run folder")
    faster(run)
    refused(rooftree("recover", run, run), "name a new folder")
    refused(rooftree("recover", run, run / "in"), f"outside {run}")
    emptied(run / "run.sqlite")
    refused(rooftree("recover", run, new), "run.sqlite holds no journal; put a copy of it back")
    assert not new.exists()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("gone", ["file", "folder"])
def test_a_run_whose_journal_is_deleted_meanwhile_does_not_end_well(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str, late: bool
) -> None:
    out, append = tmp_path / "run", SqliteJournal.append

    def deleting(self: SqliteJournal, kind: str, payload: Mapping[str, Any]) -> Event:
        event = append(self, kind, payload)
        if kind == ("stopped" if late else "told") and payload.get("trial", 2) == 2:
            (out / "run.sqlite").unlink() if gone == "file" else shutil.rmtree(out)
        return event

    monkeypatch.setattr(SqliteJournal, "append", deleting)
    done = optimize(toy_folder, out, "--evaluations", 4)
    monkeypatch.undo()
    failed(done, f"the journal {out}/run.sqlite, with ", "was deleted while the run went on",
           f"they are kept in {out}-rescued")  # fmt: skip
    assert not done.stdout
    completed("report", f"{out}-rescued")
    if gone == "file":
        completed("resume", f"{out}-rescued")


def test_watching_a_damaged_journal_says_what_to_do(run: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("UPDATE event SET payload = '[]' WHERE seq = 2")
    connection.close()
    refused(rooftree("watch", run), "event 2", ": put a copy of it back, or go on from event 1")
    (run / "run.sqlite").write_bytes(b"no database at all" * 100)
    refused(rooftree("watch", run), f"the journal of {run} is lost", "run.sqlite is not a database",
            "; put a copy of it back, or start a new run")  # fmt: skip


def test_a_journal_that_may_not_be_read_is_asked_for_and_hides_no_other_run(
    run: Path, toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimized(toy_folder, tmp_path / "other", "--evaluations", 4)
    barred, connect, opened = run / "run.sqlite", journal_file.connect, Path.open

    def connected(path: Path, **options: Any) -> sqlite3.Connection:
        if path == barred:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, **options)

    def opening(path: Path, *arguments: Any, **options: Any) -> Any:
        if path == barred:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(journal_file, "connect", connected)
    monkeypatch.setattr(Path, "open", opening)
    refused(rooftree("watch", run), "cannot be read: unable to open", ": make it readable")
    states = {line["folder"]: line["state"] for line in json_of("runs", tmp_path)}
    assert {Path(folder).name: state for folder, state in states.items()} == {
        "run": "damaged",
        "other": "finished",
    }


def test_what_follows_a_run_is_quiet_about_a_folder_that_was_removed(run: Path) -> None:
    tail = JournalTail(run)
    shutil.rmtree(run)
    with pytest.raises(JournalError, match="cannot be read"):
        tail.more()


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("told", "parent", '"x"'),
        ("told", "parent", "[1]"),
        ("told", "trial", '"x"'),
        ("told", "reason", "null"),
        ("told", "reward", "1" + "0" * 400),
        ("told", "duplicate_of", "99"),
        ("proposed", "usage", "[]"),
        ("asked", "trial", '"x"'),
        ("stopped", "reason", "7"),
        ("stopped", "elapsed_s", "[]"),
        ("stopped", "elapsed_s", "1" + "0" * 400),
        ("stopped", "elapsed_s", "9" * 5000),
        ("stopped", "elapsed_s", "[" * 100_000),
    ],
)
def test_an_event_of_wrong_types_is_told_in_a_line(
    run: Path, kind: str, field: str, value: str
) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        found = connection.execute(
            "SELECT seq, payload FROM event WHERE kind = ? ORDER BY seq DESC", (kind,)
        ).fetchone()
        payload = json.dumps({**json.loads(found[1]), field: "HERE"}).replace('"HERE"', value)
        connection.execute("UPDATE event SET payload = ? WHERE seq = ?", (payload, found[0]))
    connection.close()
    for command in ("report", "resume"):
        done = rooftree(command, run)
        if done.exit_code:
            failed(done, "journal")


def test_the_report_of_a_run_that_was_killed_says_so_and_how_to_go_on(
    toy_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    optimized(toy_folder, run, "--evaluations", 10, "--seed", 1)
    assert "state " not in completed("report", run).stdout
    with closing(sqlite3.connect(run / DATABASE)) as journal, journal:
        journal.execute("DELETE FROM event WHERE kind = 'stopped'")
    told = completed("report", run).stdout.splitlines()[-1]
    assert told.startswith("state         it crashed or was killed; go on with: rooftree resume ")
    with SqliteJournal(run / DATABASE):
        told = completed("report", run).stdout.splitlines()[-1]
    assert told == "state         it is running"
