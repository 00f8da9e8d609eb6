"""The journal: append-only, durable, one writer, any number of readers."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from experiments.live.tail import JournalTail
from experiments.runs.folders import event_table
from experiments.runs.folders.journal import JournalLost, SqliteJournal, read_events
from experiments.runs.folders.recovering import rescued
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


def test_an_interrupt_right_behind_the_commit_leaves_a_journal_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        journal.append("asked", {})
        usual = event_table.insert

        def interrupted(*words: Any) -> event_table.Head:
            usual(*words)
            raise KeyboardInterrupt

        monkeypatch.setattr(event_table, "insert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append("told", {})
        monkeypatch.setattr(event_table, "insert", usual)
        journal.append("stopped", {})
    assert [event.kind for event in read_events(tmp_path)] == ["asked", "told", "stopped"]


def test_closing_waits_for_a_thread_that_writes_and_refuses_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial may outlive its run; SQLite would end the process."""
    usual, inside, go = event_table.insert, threading.Event(), threading.Event()

    def slow(*words: Any) -> event_table.Head:
        inside.set()
        assert go.wait(timeout=60)
        return usual(*words)

    journal = SqliteJournal(tmp_path / "run.sqlite")
    monkeypatch.setattr(event_table, "insert", slow)
    with ThreadPoolExecutor(2) as threads:
        written = threads.submit(journal.append, "measured", {})
        assert inside.wait(timeout=60)
        closed = threads.submit(journal.close)
        with pytest.raises(TimeoutError):
            closed.result(timeout=0.2)
        go.set()
        closed.result(timeout=60)
        assert written.result(timeout=60).kind == "measured"
    with pytest.raises(JournalError, match="the run has ended"):
        journal.append("told", {})
    assert [event.kind for event in read_events(tmp_path)] == ["measured"]


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


# Checksums.


def edited(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def written(folder: Path, count: int = 6) -> Path:
    with SqliteJournal(folder / "run.sqlite") as journal:
        for number in range(1, count + 1):
            journal.append("measured", {"time_us": 100.0 + number})
    return folder / "run.sqlite"


def of_version_1(folder: Path, payloads: Sequence[str]) -> Path:
    path = folder / "run.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE event (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
            "payload TEXT NOT NULL, at TEXT NOT NULL) STRICT"
        )
        connection.executemany(
            "INSERT INTO event (kind, payload, at) VALUES ('measured', ?, '2026-01-01T00:00:00')",
            [(payload,) for payload in payloads],
        )
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    return path


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE event SET payload = replace(payload, '104', '4') WHERE seq = 4",
         r"event 4 \(measured\) was changed .*go on from events 1 to 3"),
        ("UPDATE event SET kind = 'told' WHERE seq = 2", r"event 2 \(told\) was changed"),
        ("UPDATE event SET at = '2026' WHERE seq = 6", r"event 6 \(measured\) was changed"),
        ("UPDATE event SET checksum = '' WHERE seq = 5", r"event 5 \(measured\) was changed"),
        ("DELETE FROM event WHERE seq = 3", r"event 3 is gone before event 4"),
        ("DELETE FROM event WHERE seq IN (2, 3, 4)", r"events 2 to 4 are gone before event 5"),
        ("UPDATE event SET payload = '{' WHERE seq = 1", r"event 1 .*or start a new run"),
    ],
)  # fmt: skip
def test_a_changed_journal_is_refused_by_readers_and_writers(
    tmp_path: Path, statement: str, named: str
) -> None:
    path = written(tmp_path)
    edited(path, statement)
    with pytest.raises(JournalError, match=named):
        read_events(tmp_path)
    with pytest.raises(JournalError, match=named):
        SqliteJournal(path)
    with pytest.raises(JournalError, match=named):
        list(JournalTail(tmp_path).until(frozenset()))


def test_a_journal_of_version_1_is_read_as_it_is_and_chained_once_it_is_written_to(
    tmp_path: Path,
) -> None:
    path = of_version_1(tmp_path, ['{"trial": 1}', '{"trial":2}'])
    before = path.read_bytes()
    old = read_events(tmp_path)
    assert [event.payload for event in old] == [{"trial": 1}, {"trial": 2}]
    assert path.read_bytes() == before
    tail = JournalTail(tmp_path)
    assert [event for event, _ in tail.until(frozenset())] == list(old)
    with SqliteJournal(path) as journal:
        assert tuple(journal.events()) == old
        added = journal.append("told", {"trial": 2})
    assert [event for event, _ in tail.until(frozenset())] == [added]
    assert read_events(tmp_path) == (*old, added)
    edited(path, """UPDATE event SET payload = '{"trial": 9}' WHERE seq = 1""")
    with pytest.raises(JournalError, match=r"event 1 \(measured\) was changed"):
        read_events(tmp_path)


def test_an_interrupt_right_behind_the_chaining_of_version_1_leaves_a_journal_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = of_version_1(tmp_path, ['{"trial": 1}'])
    usual = event_table.upgrade

    def interrupted(connection: sqlite3.Connection) -> event_table.Head:
        usual(connection)
        raise KeyboardInterrupt

    with SqliteJournal(path) as journal:
        monkeypatch.setattr(event_table, "upgrade", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append("told", {})
        monkeypatch.setattr(event_table, "upgrade", usual)
        journal.append("stopped", {})
    assert [event.kind for event in read_events(tmp_path)] == ["measured", "stopped"]


def test_a_jotted_event_is_in_the_chain_too(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        journal.append("asked", {})
        journal.jot("stage", {"stage": "timing"})
        journal.append("told", {})
    assert [event.kind for event in read_events(tmp_path)] == ["asked", "stage", "told"]


# The file goes away.


def unlinked(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def without_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("lose", [unlinked, replaced, without_folder])
def test_a_journal_that_goes_away_is_noticed_and_its_events_are_kept(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with SqliteJournal(run / "run.sqlite") as journal:
        kept = [journal.append("measured", {"trial": number}) for number in range(3)]
        lose(run / "run.sqlite")
        with pytest.raises(JournalLost, match="3 events, was") as lost, rescued(journal, run):
            journal.append("told", {})
    assert f"they are kept in {tmp_path / 'run-rescued'}" in str(lost.value)
    assert list(read_events(tmp_path / "run-rescued")) == kept
