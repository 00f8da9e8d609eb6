"""The table of a journal's events, each with a checksum that covers all events up to it.

A changed, removed or inserted event breaks the chain there; what stands before it is sound. The
checksums tell of damage and of editing by hand; they are no signature.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from experiments.runs.options.run_hints import no_journal
from mcts.errors import InputError, JournalError
from mcts.formats import SQLITE_ERRORS, parse_json
from mcts.ports import Event

SCHEMA_VERSION = 2
"""Version 1 had no checksums; it is still read, and upgraded when it is written to."""
_CHAINED = 2
_DIGEST_BYTES = 16
_CREATE = """
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    at TEXT NOT NULL,
    checksum TEXT NOT NULL DEFAULT ''
) STRICT
"""
_INSERT = "INSERT INTO event (seq, kind, payload, at, checksum) VALUES (?, ?, ?, ?, ?)"
_FULL = ("disk is full", "disk I/O error")
_REFUSED = ("unable to open database file", "readonly database")
_SHOWN = 40
"""So many characters of a damaged event's kind are shown."""


class JournalDamaged(JournalError):
    """An event was changed or cannot be read: `what`, and of the journal at `path` the first
    `sound` events can still be used.
    """

    def __init__(self, path: Path, what: str, *, sound: int) -> None:
        instead = "start a new run"
        if sound:
            run = shlex.quote(str(path.parent))
            before = "event 1" if sound == 1 else f"events 1 to {sound}"
            instead = f"go on from {before} with: rooftree recover {run} NEW_RUN"
        super().__init__(
            f"the journal {path} is damaged ({what}): put a copy of it back, or {instead}"
        )
        self.what = what


class Row(NamedTuple):
    """An event as it is stored: `payload` is JSON, `at` an ISO date."""

    seq: int
    kind: str
    payload: str
    at: str

    def event(self) -> Event:
        """ValueError or TypeError if the payload is no JSON object."""
        payload = parse_json(self.payload)
        if not isinstance(payload, dict):
            raise ValueError("its payload is no object")
        return Event(self.seq, self.kind, payload)


class Head(NamedTuple):
    """Number and checksum of a journal's last event."""

    seq: int = 0
    checksum: str = ""

    def moved_to(self, row: Row) -> Head:
        """The head once `row` is the last event."""
        text = f"{self.checksum}\n{row.seq}\n{row.kind}\n{row.at}\n{row.payload}"
        return Head(row.seq, blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest())


def create(connection: sqlite3.Connection) -> None:
    """Make an empty table, whole or not at all."""
    with _transaction(connection):
        connection.execute(_CREATE)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def insert(connection: sqlite3.Connection, row: Row, head: Head) -> Head:
    """Add an event to a journal with this `head`; returns its new head."""
    moved = head.moved_to(row)
    connection.execute(_INSERT, (*row, moved.checksum))
    return moved


def write_all(path: Path, rows: Iterable[Row]) -> Head:
    """Make a journal of these events at `path`, numbered from 1."""
    head = Head()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        create(connection)
        with _transaction(connection):
            for row in rows:
                head = insert(connection, row._replace(seq=head.seq + 1), head)
    return head


def upgrade(connection: sqlite3.Connection) -> Head:
    """Chain the events of a journal of version 1 as they stand, whole or not at all; returns the
    head.
    """
    head = Head()
    with _transaction(connection):
        connection.execute("ALTER TABLE event ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
        for found in connection.execute(_select(chained=False), (0, -1)).fetchall():
            head = head.moved_to(Row(*found))
            connection.execute("UPDATE event SET checksum = ? WHERE seq = ?", head[::-1])
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return head


def rows(
    connection: sqlite3.Connection, path: Path, *, after: int = 0, most: int = -1
) -> Iterator[Row]:
    """The events behind number `after`, `most` of them or all, each once it is found sound.

    Raises JournalDamaged, which names the event, where the first is not; sqlite3.DatabaseError
    while another process holds the file.
    """
    last = after
    try:
        chained = version_of(connection) >= _CHAINED
        head = _head_at(connection, after) if chained and after else Head(after)
        for seq, kind, payload, at, *kept in connection.execute(
            _select(chained=chained), (after, most)
        ):
            row = Row(seq, kind, payload, at)
            moved = head.moved_to(row)
            if kept and kept[0] != moved.checksum:
                raise JournalDamaged(path, _break(row, after=last), sound=last)
            yield row
            head, last = moved, seq
    except SQLITE_ERRORS as error:
        if is_busy(error):
            raise
        raise translated(error, path, sound=last) from None


def events(rows: Iterable[Row], path: Path) -> Iterator[Event]:
    """Rows as events. JournalDamaged for one whose payload is no JSON object."""
    for row in rows:
        try:
            event = row.event()
        except (TypeError, ValueError) as error:
            raise JournalDamaged(path, f"{_named(row)}: {error}", sound=row.seq - 1) from None
        yield event


def head_of(connection: sqlite3.Connection, path: Path) -> Head:
    """The head of a journal whose events are sound. JournalDamaged for one that is not."""
    head = Head()
    for row in rows(connection, path):
        head = head.moved_to(row)
    return head


def version_of(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_busy(error: Exception) -> bool:
    """Whether another process holds the file at this moment."""
    return any(sign in str(error) for sign in ("locked", "busy"))


def is_foreign(error: Exception) -> bool:
    """Whether the file is no database at all."""
    return "not a database" in str(error)


def translated(error: Exception, path: Path, *, sound: int = 0) -> InputError | JournalError:
    """An error of SQLite or the disk in one line; `sound` is the last event that could be read."""
    text = str(error)
    if is_foreign(error):
        return no_journal(path.parent, "is not a database")
    if isinstance(error, OSError) or any(sign in text for sign in (*_FULL, *_REFUSED)):
        refused = any(sign in text for sign in _REFUSED)
        mend = "make the folder writable" if refused else "make room"
        return JournalError(
            f"cannot write the journal {path}: {text}; {mend}, then: "
            f"rooftree resume {shlex.quote(str(path.parent))}"
        )
    if isinstance(error, SQLITE_ERRORS) and is_busy(error):
        return JournalError(f"another process holds the journal {path}: {text}; try again")
    what = text.partition(" with text")[0]
    return JournalDamaged(path, f"behind event {sound}: {what}" if sound else what, sound=sound)


def _select(*, chained: bool) -> str:
    columns = "seq, kind, payload, at" + (", checksum" if chained else "")
    return f"SELECT {columns} FROM event WHERE seq > ? ORDER BY seq LIMIT ?"


def _head_at(connection: sqlite3.Connection, seq: int) -> Head:
    found = connection.execute("SELECT seq, checksum FROM event WHERE seq = ?", (seq,)).fetchone()
    return Head(*found) if found else Head(seq)


def _break(row: Row, *, after: int) -> str:
    """How the chain is broken at `row`, which follows event `after`."""
    if row.seq == after + 1:
        return f"{_named(row)} was changed after it was written"
    if row.seq <= after:
        return f"what stands behind event {after} is no event"
    lost = row.seq - 1
    gone = (
        f"event {lost} is gone" if lost == after + 1 else f"events {after + 1} to {lost} are gone"
    )
    return f"{gone} before {_named(row)}"


def _named(row: Row) -> str:
    return f"event {row.seq} ({str(row.kind)[:_SHOWN]})"


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
