"""A run that has lost a part of itself: nothing is overwritten, and what to do is said."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.runs.folders.journal import read_events
from mcts.journal.record import read_result
from tests.support.commands import json_of, optimized, refused, rooftree


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
    refused(done, f"the journal of {run} is empty or gone, though it has results",
            "put a copy of run.sqlite back, or start a new run")  # fmt: skip
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


def test_watching_a_damaged_journal_says_what_to_do(run: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("UPDATE event SET payload = '[]' WHERE seq = 2")
    connection.close()
    refused(rooftree("watch", run), "event 2", ": put a copy of it back, or start a new run")
    (run / "run.sqlite").write_bytes(b"no database at all" * 100)
    refused(rooftree("watch", run), f"the journal of {run} cannot be read",
            ": put a copy of it back, or start a new run")  # fmt: skip


def test_watch_asks_to_make_an_unreadable_journal_readable(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def barred(*_: object, **__: object) -> object:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr("experiments.live.tail.reading", barred)
    refused(rooftree("watch", run), "cannot be read: unable to open", ": make it readable")
