"""Files of SQLite that several processes share may be made by all of them at once."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.cache import AnswerStore
from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.runs.memory.database import open_memory
from mcts.databases import use_wal

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
