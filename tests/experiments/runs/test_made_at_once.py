"""Files of SQLite that several processes share may be made by all of them at once."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.cache import AnswerStore
from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.runs.memory import database
from experiments.runs.memory.applying import remember
from experiments.runs.memory.database import MemoryEmpty, open_memory, read_memory
from experiments.runs.options.config import RunConfig
from mcts.databases import use_wal
from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions

KINDS: tuple[Callable[[Path], Any], ...] = (open_memory, AnswerStore, MeasurementStore)
PROCESSES = 6


def made(kind: Callable[[Path], Any], path: Path, together: Any) -> None:
    together.wait(30)
    kind(path).close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_processes_that_make_a_file_at_once_all_have_it(
    kind: Callable[[Path], Any], tmp_path: Path
) -> None:
    context = multiprocessing.get_context("fork")
    for number in range(10):
        together = context.Barrier(PROCESSES)
        path = tmp_path / f"{number}.sqlite"
        workers = [
            context.Process(target=made, args=(kind, path, together)) for _ in range(PROCESSES)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0] * PROCESSES


def held_open(path: Path) -> sqlite3.Connection:
    """A connection that reads, so that nobody may change the kind of log."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE t (x)")
    connection.execute("BEGIN")
    connection.execute("SELECT * FROM t").fetchall()
    return connection


def test_the_switch_waits_until_others_have_read(tmp_path: Path) -> None:
    other = held_open(tmp_path / "f")
    connection = sqlite3.connect(tmp_path / "f", isolation_level=None, timeout=0)
    later = threading.Timer(0.3, other.rollback)
    later.start()
    use_wal(connection, wait_s=30)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    later.join()
    connection.close()
    other.close()


def test_what_stays_locked_is_told(tmp_path: Path) -> None:
    other = held_open(tmp_path / "f")
    connection = sqlite3.connect(tmp_path / "f", isolation_level=None, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        use_wal(connection, wait_s=0.1)
    connection.close()
    other.close()


def config(memory: Path) -> RunConfig:
    return RunConfig(
        rooftree="1", run_id="r", task="toy", task_name="toy",
        search=SearchOptions(proposer="scripted", memory=memory),
        judging=JudgingOptions(evaluator="gpu"), limits=Limits(), model=ModelOptions(),
    )  # fmt: skip


def begin_making(path: Path) -> sqlite3.Connection:
    """A memory that is being made: all but the end of the transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    for statements in database._MIGRATIONS:
        for statement in statements:
            connection.execute(statement)
    return connection


def test_a_run_that_begins_while_another_makes_the_memory_knows_nothing_yet(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.sqlite"
    with closing(begin_making(path)) as other:
        assert path.exists()
        begun, known = remember(config(path), gpu="G", asked=False)
        other.execute("COMMIT")
    assert begun == config(path) and not known


def killed_while_making(path: Path) -> None:
    connection = begin_making(path)
    connection.execute("PRAGMA cache_size = 2")  # pages, so that the file is written meanwhile
    rows = [(str(number), "x" * 100) for number in range(5000)]
    connection.executemany("INSERT INTO advice_checksum VALUES (?, ?)", rows)
    os._exit(9)


def test_a_memory_half_made_by_a_process_that_was_killed_is_none(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    maker = multiprocessing.get_context("fork").Process(target=killed_while_making, args=(path,))
    maker.start()
    maker.join(60)
    assert maker.exitcode == 9
    assert path.stat().st_size and path.with_name("m.sqlite-journal").stat().st_size
    with pytest.raises(MemoryEmpty):
        read_memory(path)
    assert not remember(config(path), gpu="G", asked=False)[1]
    open_memory(path).close()
    read_memory(path).close()
