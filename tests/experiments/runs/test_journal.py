"""The journal: append-only, durable, one writer, any number of readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.runs.folders.journal import SqliteJournal, read_events
from mcts.errors import InputError, JournalError
from mcts.ports import Journal
from mcts.testing.journals import JournalContract


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Iterator[Journal]:
        with SqliteJournal(tmp_path / "run.sqlite") as journal:
            yield journal


def test_it_has_its_events_for_readers_and_when_opened_again(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        events = (journal.append("asked", {"text": "µs \x7f \n"}), journal.append("told", {}))
        assert read_events(tmp_path) == events
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        assert tuple(journal.events()) == events


def test_it_is_as_durable_as_sqlite_can_be(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        ask = journal._connection.execute
        assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ask("PRAGMA synchronous").fetchone() == (2,)


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "run.sqlite")
    with pytest.raises(InputError, match="in use"):
        SqliteJournal(tmp_path / "run.sqlite")
    journal.close()
    journal.close()
    SqliteJournal(tmp_path / "run.sqlite").close()


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        journal.append("asked", {"trial": 1})
        pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
        journal._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match=r"disk is full; make room, then: rooftree resume"):
            journal.append("asked", {"text": "x" * 100_000})
        assert len(list(journal.events())) == 1


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.write_bytes(b"this is a text, and long enough to be taken for a database header " * 50)
    with pytest.raises(InputError, match="not a run folder"):
        read_events(tmp_path)
    with pytest.raises(InputError, match="not a run folder"):
        SqliteJournal(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    with pytest.raises(InputError, match="holds no journal"):
        SqliteJournal(path)


def test_text_that_is_no_json_cannot_enter(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        with pytest.raises(ValueError):
            journal.append("measured", {"time_us": float("nan")})
        assert not list(journal.events())
