"""A run that has lost a part of itself: nothing is overwritten, and what to do is said."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from experiments.cli import app


def rooftree(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(done: Result, *parts: str) -> None:
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: ")
    for part in parts:
        assert part in done.stderr


@pytest.fixture
def run(toy_folder: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    done = rooftree("optimize", toy_folder, "--evaluator", "replay", "--evaluations", 4, "--quiet",
                    "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    return out


def whole(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "run.lock"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def emptied(journal: Path) -> None:
    journal.write_bytes(b"")


def without_events(journal: Path) -> None:
    with sqlite3.connect(journal) as connection:
        connection.execute("DELETE FROM event")
    connection.close()


@pytest.mark.parametrize("lose", [Path.unlink, emptied, without_events])
def test_a_run_that_lost_its_journal_is_not_begun_anew(run: Path, lose: object) -> None:
    assert callable(lose)
    lose(run / "run.sqlite")
    before = whole(run)
    done = rooftree("resume", run)
    refused(done, f"the journal of {run} is empty or gone, though it has results",
            "put a copy of run.sqlite back, or start a new run")  # fmt: skip
    assert whole(run) == before


@pytest.mark.parametrize("left", ["best", "report.html", "tree.svg"])
def test_any_result_is_reason_enough(run: Path, left: str) -> None:
    (run / "run.sqlite").unlink()
    shutil.rmtree(run / "best")
    for name in ("report.html", "tree.svg", "tree.dot"):
        (run / name).unlink(missing_ok=True)
    (run / left).touch()
    refused(rooftree("resume", run), "is empty or gone")


def test_a_log_beside_an_empty_journal_is_not_thrown_away(run: Path) -> None:
    """As a crash leaves them: the events are in the log, and somebody empties the file itself."""
    shutil.rmtree(run / "best")
    for name in ("report.html", "tree.svg", "tree.dot"):
        (run / name).unlink(missing_ok=True)
    emptied(run / "run.sqlite")
    (run / "run.sqlite-wal").write_bytes(b"events")
    refused(rooftree("resume", run), "is empty or gone", "a part of it is left")
    assert (run / "run.sqlite-wal").read_bytes() == b"events"


@pytest.mark.parametrize("begun", [False, True])
def test_a_folder_left_before_its_journal_began_is_resumed(run: Path, begun: bool) -> None:
    shutil.rmtree(run / "best")
    for name in ("report.html", "tree.svg", "tree.dot"):
        (run / name).unlink(missing_ok=True)
    if begun:
        without_events(run / "run.sqlite")
    else:
        (run / "run.sqlite").unlink()
    done = rooftree("resume", run, "--quiet")
    assert done.exit_code == 0, done.output
    assert (run / "best").is_dir()


def test_a_run_without_its_task_says_what_is_gone(run: Path) -> None:
    shutil.rmtree(run / "task")
    before = whole(run)
    done = rooftree("resume", run, "--evaluations", 6)
    refused(done, f"{run} is damaged: its folder task is gone; put it back, or start a new run")
    assert whole(run) == before


def test_a_run_of_a_recording_alone_never_had_a_task(toy_folder: Path, tmp_path: Path) -> None:
    recording, out = toy_folder / "recordings" / "paper.json.gz", tmp_path / "recorded"
    rooftree("optimize", recording, "--evaluations", 3, "--quiet", "--out", out)
    assert not (out / "task").exists()
    assert rooftree("resume", out, "--evaluations", 4, "--quiet").exit_code == 0


def test_watching_a_damaged_journal_says_what_to_do(run: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("UPDATE event SET payload = '[]' WHERE seq = 2")
    connection.close()
    refused(rooftree("watch", run), "event 2", ": put a copy of it back, or start a new run")
    (run / "run.sqlite").write_bytes(b"no database at all" * 100)
    refused(rooftree("watch", run), f"the journal of {run} cannot be read",
            ": put a copy of it back, or start a new run")  # fmt: skip


def test_watching_a_journal_one_may_not_read_asks_for_that(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def barred(*_: object, **__: object) -> object:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr("experiments.live.tail.reading", barred)
    refused(rooftree("watch", run), "cannot be read: unable to open", ": make it readable")
