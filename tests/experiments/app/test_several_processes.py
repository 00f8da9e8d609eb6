"""Several processes at once, or one that was killed: what the next one says and does."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.measurements.asking import ANSWERS_FILE
from experiments.benchmarks.measurements.reusing import reuse
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE
from experiments.runs.folders import journal, recovering
from experiments.runs.folders.event_table import JournalDamaged, Row
from experiments.runs.folders.journal import DATABASE, SqliteJournal
from experiments.runs.folders.journal_file import lock
from experiments.runs.memory import tools
from experiments.runs.memory.advice import firings
from experiments.runs.memory.tools import ToolMemory
from experiments.views import summary
from mcts.errors import InputError
from tests.experiments.runs.test_tool_memory import PARENT, node, result
from tests.support import suite_world as world
from tests.support.commands import completed, optimized, rooftree
from tests.support.suite_world import make_level, problem_text, run_suite

SUITE = ("--budget", 4, "--evaluator", "paper", "--proposer", "canned")


def lose_results(run: Path) -> None:
    shutil.rmtree(run / "best")
    for name in ("report.html", "tree.svg", "tree.dot"):
        (run / name).unlink(missing_ok=True)


def test_a_memory_is_read_as_it_was_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.sqlite"
    fired = firings(result(PARENT, node(1, us=50.0, methods=("b",))))
    with ToolMemory(path) as memory:
        memory.learn("r", gpu="G", proposer="p", fired=fired, followed=())
    original = tools._checksum

    def taught_meanwhile(connection: sqlite3.Connection, run: str) -> str:
        monkeypatch.setattr(tools, "_checksum", original)
        with ToolMemory(path) as other:
            other.learn(run, gpu="G", proposer="p", fired=(), followed=())
        return original(connection, run)

    with ToolMemory(path, readonly=True) as memory:
        monkeypatch.setattr(tools, "_checksum", taught_meanwhile)
        assert memory.statistics()
        assert not memory.statistics()


@pytest.mark.parametrize("command", ["tools", "show"])
def test_a_memory_that_is_being_made_holds_nothing_yet(tmp_path: Path, command: str) -> None:
    path = tmp_path / "m.sqlite"
    path.touch()
    assert "holds nothing yet" in completed("memory", command, "--memory", path).stdout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem, and a world that searches it on paper."""
    world.install(monkeypatch)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return make_level(tmp_path / "kb", {"1_Fast.py": problem_text("2.0", "1.5")})


@pytest.fixture
def suite(root: Path, tmp_path: Path) -> Path:
    """A suite whose only search has ended."""
    assert run_suite(root, tmp_path / "suite", *SUITE).exit_code == 0
    return tmp_path / "suite"


def test_a_suite_killed_in_its_first_write_goes_on(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    out.mkdir()
    for name in ("suite.lock", ".suite.json.12-34.partial"):
        (out / name).touch()
    assert run_suite(root, out, *SUITE).exit_code == 0


def test_a_search_of_a_suite_that_was_killed_at_its_very_end_is_concluded(
    root: Path, suite: Path, tmp_path: Path
) -> None:
    run = suite / "runs" / "level1_1"
    lose_results(run)
    shutil.rmtree(tmp_path / "data")
    (suite / "outcomes" / "level1_1.json").unlink()
    assert run_suite(root, suite, *SUITE).exit_code == 0
    assert (run / "report.html").is_file() and any((tmp_path / "data").iterdir())


def test_an_ended_search_whose_results_cannot_be_written_keeps_its_outcome(
    root: Path, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "report.html")

    lose_results(suite / "runs" / "level1_1")
    (suite / "outcomes" / "level1_1.json").unlink()
    monkeypatch.setattr(summary, "write_outputs", full)
    done = run_suite(root, suite, *SUITE)
    assert done.exit_code == 0
    assert "has ended, its results are not written: the run is whole, but report" in done.stderr


def test_a_suite_waits_for_a_search_that_outlived_the_last_one(root: Path, suite: Path) -> None:
    run = suite / "runs" / "level1_1"
    lose_results(run)
    (suite / "outcomes" / "level1_1.json").unlink()
    later = threading.Timer(0.5, os.close, [lock(run)])
    later.start()
    done = run_suite(root, suite, *SUITE)
    later.join()
    assert done.exit_code == 0 and (run / "report.html").is_file()
    assert f"waiting for the search in {run} to stop" in done.stderr


def test_a_run_that_is_about_to_begin_is_not_said_to_have_stopped() -> None:
    with pytest.raises(InputError, match=r"has not begun; rooftree watch .* resume begins it"):
        summary.facts_of(())


@pytest.mark.parametrize("is_held", [False, True])
def test_a_report_that_the_runs_end_overtakes_is_of_the_end(
    toy_folder: Path, tmp_path: Path, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the run's process still holds the folder or not."""
    run = tmp_path / "run"
    optimized(toy_folder, run, "--evaluations", 10, "--seed", 1)
    with closing(sqlite3.connect(run / DATABASE)) as file, file:
        stopped = file.execute("SELECT * FROM event WHERE kind = 'stopped'").fetchone()
        file.execute("DELETE FROM event WHERE kind = 'stopped'")
    original = summary.write_outputs

    def overtaken(*given: Any, **named: Any) -> summary.Outputs:
        written = original(*given, **named)
        monkeypatch.setattr(summary, "write_outputs", original)
        with closing(sqlite3.connect(run / DATABASE)) as file, file:
            holes = ", ".join("?" * len(stopped))
            file.execute(f"INSERT INTO event VALUES ({holes})", stopped)
        return written

    monkeypatch.setattr(summary, "write_outputs", overtaken)
    with SqliteJournal(run / DATABASE) if is_held else nullcontext():
        told = completed("report", run).stdout
    assert "crashed" not in told and "is running" not in told
    assert "evaluations spent" in (run / "report.html").read_text()


def test_a_journal_that_grows_while_it_is_read_is_read_again(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    optimized(toy_folder, run, "--evaluations", 4)
    whole, original, grows = journal.read_events(run), journal.stored_rows, [True]

    def overtaken(run_dir: Path) -> Iterator[Row]:
        yield from original(run_dir)
        if grows:
            if grows.pop():
                os.utime(run / DATABASE, (1, 1))
            raise JournalDamaged(run / DATABASE, "malformed", sound=1)

    monkeypatch.setattr(journal, "stored_rows", overtaken)
    assert journal.read_events(run) == whole
    grows.append(False)
    with pytest.raises(JournalDamaged):
        journal.read_events(run)


def test_a_recovered_run_has_its_events_before_its_configuration(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in between must not leave a run that begins anew."""
    run, target = tmp_path / "run", tmp_path / "again"
    optimized(toy_folder, run, "--evaluations", 4)
    with closing(sqlite3.connect(run / DATABASE)) as file, file:
        file.execute("UPDATE event SET payload = '{}' WHERE seq = 4")
    copied: list[bool] = []
    original = shutil.copytree

    def copy(*given: Any, **named: Any) -> Any:
        copied.append((target / DATABASE).is_file() and not (target / "config.toml").exists())
        return original(*given, **named)

    monkeypatch.setattr(recovering.shutil, "copytree", copy)
    assert rooftree("recover", run, target).exit_code == 0
    assert copied[:1] == [True] and (target / "config.toml").is_file()


def test_a_study_that_was_killed_before_it_asked_anything_has_nothing_to_take_over(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
    for name in (ANSWERS_FILE, MEASUREMENTS_FILE):
        (source / name).touch()
    assert reuse(source, target) == (0, 0)
