"""The journal of a run: an append-only event table in `run.sqlite`, durable at every append.

One process writes, held to that by an exclusive lock on the run folder; any number may read at
the same time, because SQLite's write-ahead log lets them.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from experiments.runs.folders.journal_file import connect, lock, reading
from experiments.runs.options.run_hints import DATABASE, not_a_run_folder
from mcts.errors import InputError, JournalError
from mcts.ports import Event, Journal

__all__ = ["DATABASE", "SCHEMA_VERSION", "SqliteJournal", "database_of", "is_begun", "read_events"]

SCHEMA_VERSION = 1
_CREATE = """
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT
"""
_FULL = ("disk is full", "disk I/O error")
_REFUSED = ("unable to open database file", "readonly database")


class SqliteJournal(Journal):
    """The one writer of a run. `path` is the run's `run.sqlite`; it is created if absent.

    Raises InputError when another process holds the run, when the file is no journal or when a
    newer Rooftree wrote it; JournalError when the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._durable = path, True
        self._lock = lock(path.parent)
        try:
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
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.execute(_CREATE)
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise _translate(error, self._path) from None
        _check_schema(self._connection, self._path)

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
        try:
            if durable != self._durable:
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            cursor = self._connection.execute(
                "INSERT INTO event (kind, payload, at) VALUES (?, ?, ?)", (kind, text, at)
            )
        except (sqlite3.DatabaseError, OSError) as error:
            raise _translate(error, self._path) from None
        return Event(int(cursor.lastrowid or 0), kind, json.loads(text))

    def events(self) -> Iterator[Event]:
        """Every event so far, oldest first."""
        yield from _select(self._connection, self._path)

    def close(self) -> None:
        """Close the file and give the run free; idempotent."""
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

    Raises InputError when `run_dir` is not a run folder.
    """
    path = database_of(run_dir)
    try:
        with reading(path) as connection:
            _check_schema(connection, path)
            return tuple(_select(connection, path))
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from None


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
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from None


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
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from None


def _is_empty(connection: sqlite3.Connection) -> bool:
    count: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return count == 0


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    try:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from None
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path.parent} was made by a newer Rooftree (journal version {version}, this one "
            f"reads {SCHEMA_VERSION}): update Rooftree"
        )
    if "event" not in tables or version < 1:
        raise InputError(f"{path.parent} is not a run folder: {path.name} holds no journal")


def _select(connection: sqlite3.Connection, path: Path) -> Iterator[Event]:
    try:
        for seq, kind, payload in connection.execute(
            "SELECT seq, kind, payload FROM event ORDER BY seq"
        ):
            entry = json.loads(payload)
            if not isinstance(entry, dict):
                raise _damaged(path, f"event {seq} is no object")
            yield Event(seq, kind, entry)
    except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
        raise _translate(error, path) from None


def _translate(error: Exception, path: Path) -> InputError | JournalError:
    text = str(error)
    if "not a database" in text:
        return InputError(f"{path.parent} is not a run folder: {path.name} is not a database")
    if isinstance(error, OSError) or any(sign in text for sign in (*_FULL, *_REFUSED)):
        refused = any(sign in text for sign in _REFUSED)
        mend = "make the folder writable" if refused else "make room"
        return JournalError(
            f"cannot write the journal {path}: {text}; {mend}, then: "
            f"rooftree resume {shlex.quote(str(path.parent))}"
        )
    return _damaged(path, text.partition(" with text")[0])


def _damaged(path: Path, what: str) -> JournalError:
    return JournalError(
        f"the journal {path} is damaged ({what}): put a copy of it back, or start a new run"
    )
