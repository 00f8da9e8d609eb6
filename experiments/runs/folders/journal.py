"""The journal of a run: an append-only event table in `run.sqlite`, durable at every append.

Each event has a checksum that covers all before it (`event_table`), so that a change is told and
never reported as a result. One process writes, held to that by an exclusive lock on the run folder;
any number may read at the same time, because SQLite's write-ahead log lets them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from experiments.runs.folders import event_table
from experiments.runs.folders.event_table import SCHEMA_VERSION, JournalDamaged, Row
from experiments.runs.folders.journal_file import connect, lock, missing_bytes, reading
from experiments.runs.options.run_hints import DATABASE, no_journal, not_a_run_folder
from experiments.text.words import counted
from mcts.errors import InputError, JournalError
from mcts.formats import SQLITE_ERRORS
from mcts.ports import Event, Journal

__all__ = [
    "DATABASE",
    "SCHEMA_VERSION",
    "JournalLost",
    "SqliteJournal",
    "check_end",
    "database_of",
    "is_begun",
    "read_events",
    "stored_rows",
]


class JournalLost(JournalError):
    """The journal's file was deleted or replaced while it was written; `rows` still has it."""


class SqliteJournal(Journal):
    """The one writer of a run. `path` is the run's `run.sqlite`; it is created if absent.

    Raises InputError when another process holds the run, when the file is no journal or when a
    newer Rooftree wrote it; JournalError when the disk refuses or an event is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._durable = path, True
        self._unsure = False
        self._using = threading.Lock()
        self._lock = lock(path.parent)
        try:
            check_end(path.parent)
            self._connection = _connect(path)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            os.close(self._lock)
            raise

    def _prepare(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            if _is_empty(self._connection):
                event_table.create(self._connection)
            _check_schema(self._connection, self._path)
            self._version = event_table.version_of(self._connection)
            self._head = event_table.head_of(self._connection, self._path)
            self._inode = _inode(self._path)
        except (*SQLITE_ERRORS, OSError) as error:
            raise event_table.translated(error, self._path) from None

    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        """Write one event; returns once it is on disk. JournalError when that fails."""
        return self._insert(kind, payload, durable=True)

    def jot(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Write an event that a power cut may take: nothing waits for the disk.

        JournalError if it cannot be written.
        """
        self._insert(kind, payload, durable=False)

    def _insert(self, kind: str, payload: Mapping[str, Any], *, durable: bool) -> Event:
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._using:
            return self._written(kind, text, at, durable=durable)

    def _written(self, kind: str, text: str, at: str, *, durable: bool) -> Event:
        """Write one event, alone. JournalError also for a thread that outlived the run."""
        if self._lock < 0:
            raise JournalError(f"the journal {self._path} is closed: the run has ended")
        self.check_place()
        try:
            if durable != self._durable:
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            if self._unsure:
                self._version = event_table.version_of(self._connection)
                self._head = event_table.head_of(self._connection, self._path)
            self._unsure = True  # Ctrl-C may come between what is written and what is known of it
            if self._version < SCHEMA_VERSION:
                self._head = event_table.upgrade(self._connection)
                self._version = SCHEMA_VERSION
            row = Row(self._head.seq + 1, kind, text, at)
            self._head = event_table.insert(self._connection, row, self._head)
            self._unsure = False
        except (*SQLITE_ERRORS, OSError) as error:
            raise event_table.translated(error, self._path, sound=self._head.seq) from None
        return Event(row.seq, kind, json.loads(text))

    def check_place(self) -> None:
        """Raise JournalLost if the file that is written no longer stands in the run folder."""
        found = _inode(self._path)
        if found != self._inode:
            fate = "deleted" if found is None else "replaced by another file"
            raise JournalLost(
                f"the journal {self._path}, with {self._head.seq} events, was {fate} while the "
                "run went on"
            )

    def rows(self) -> Iterator[Row]:
        """Every event so far as it is stored, even if the file was deleted meanwhile."""
        return event_table.rows(self._connection, self._path)

    def events(self) -> Iterator[Event]:
        """Every event so far, oldest first. JournalError where the first is damaged."""
        return event_table.events(self.rows(), self._path)

    def close(self) -> None:
        """Close the file and give the run free; idempotent.

        A thread that is about to write comes before or is refused: a connection that is closed
        under it would end the process.
        """
        with self._using:
            if self._lock >= 0:
                self._connection.close()
                os.close(self._lock)
                self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_events(run_dir: Path) -> tuple[Event, ...]:
    """All events of a run, also of one that is being written at this moment.

    Raises InputError when `run_dir` is not a run folder, JournalError if an event is damaged.
    """
    path = run_dir / DATABASE
    before = _written_at(path)
    try:
        return tuple(event_table.events(stored_rows(run_dir), path))
    except JournalDamaged:
        if _written_at(path) == before:
            raise
    # A run went on while it was read without its log, which it did not have before.
    return tuple(event_table.events(stored_rows(run_dir), path))


def _written_at(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written to; None if there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def check_end(run_dir: Path) -> None:
    """JournalDamaged, which says how far the journal can be read, if its file has lost its end."""
    if missing_bytes(run_dir / DATABASE):
        read_events(run_dir)


def stored_rows(run_dir: Path) -> Iterator[Row]:
    """The events of a run as they are stored, up to the first that is damaged: JournalDamaged.

    Raises InputError when `run_dir` is not a run folder.
    """
    path = database_of(run_dir)
    missing, sound = missing_bytes(path), 0
    try:
        with reading(path) as connection:
            _check_schema(connection, path)
            for row in event_table.rows(connection, path):
                yield row
                sound = row.seq
    except JournalDamaged:
        if not missing:
            raise
    except SQLITE_ERRORS as error:
        raise event_table.translated(error, path) from None
    if missing:
        what = f"the end of its file is missing, {counted(missing, 'byte')}"
        raise JournalDamaged(path, what, sound=sound)


def is_begun(path: Path) -> bool:
    """Whether a journal holds an event; it is neither made nor changed.

    A write-ahead log beside an empty file does not count: SQLite would delete it. Raises
    InputError for what is no journal, JournalError for one that is damaged.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return False
    try:
        with reading(path) as connection:
            if _is_empty(connection):
                return False
            _check_schema(connection, path)
            return connection.execute("SELECT 1 FROM event LIMIT 1").fetchone() is not None
    except SQLITE_ERRORS as error:
        raise event_table.translated(error, path) from None


def database_of(run_dir: Path) -> Path:
    """The journal's file; InputError if the folder has none."""
    path = run_dir / DATABASE
    if not path.is_file():
        raise not_a_run_folder(run_dir, DATABASE)
    return path


def _connect(path: Path) -> sqlite3.Connection:
    """Every append is a transaction of its own; the loop serialises those of its threads."""
    try:
        return connect(path)
    except SQLITE_ERRORS as error:
        raise event_table.translated(error, path) from None


def _is_empty(connection: sqlite3.Connection) -> bool:
    count: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return count == 0


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    try:
        version = event_table.version_of(connection)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    except SQLITE_ERRORS as error:
        raise event_table.translated(error, path) from None
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path.parent} was made by a newer Rooftree (journal version {version}, this one "
            f"reads {SCHEMA_VERSION}): update Rooftree"
        )
    if "event" not in tables or version < 1:
        raise no_journal(path.parent, "holds no journal")


def _inode(path: Path) -> tuple[int, int] | None:
    """Which file stands at `path`; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
