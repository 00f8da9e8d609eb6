"""A run's journal read as it grows, by any number of readers, without disturbing the writer."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from experiments.runs.folders.journal import SCHEMA_VERSION, database_of
from experiments.runs.folders.journal_file import reading
from mcts.errors import InputError, JournalError
from mcts.ports import Event

BATCH = 2000
"""Events of one read, so that a long journal does not hold up a display."""
_LOCK = "run.lock"
_BUSY_S = 1.0
_NEXT = "SELECT seq, kind, payload, at FROM event WHERE seq > ? ORDER BY seq LIMIT ?"


class JournalTail:
    """Hands out each event once. It connects anew for each read and holds no snapshot between them,
    so that the writer may check-point and close as if nobody looked.

    Raises InputError if `run_dir` is no run folder.
    """

    def __init__(self, run_dir: Path) -> None:
        self._folder, self._path, self._seq = run_dir, database_of(run_dir), 0
        self._unread: deque[tuple[Event, float]] = deque()

    def until(self, kinds: frozenset[str]) -> Iterator[tuple[Event, float]]:
        """New events, with the time of each in seconds since the epoch: all that one look finds,
        at most `BATCH`, or up to the first of one of these kinds; the rest is for the next call.

        Raises InputError for a journal of a newer Rooftree, JournalError for one that cannot be
        read.
        """
        if not self.more():
            return
        while self._unread:
            event, at = self._unread.popleft()
            yield event, at
            if event.kind in kinds:
                return

    def more(self) -> bool:
        """Whether there is anything to read. Raises as `until` does."""
        if not self._unread:
            self._unread.extend(self._look())
        return bool(self._unread)

    def _look(self) -> list[tuple[Event, float]]:
        """What the journal holds beyond what was seen; nothing while the writer creates it."""
        try:
            with reading(self._path, timeout_s=_BUSY_S) as connection:
                version: int = connection.execute("PRAGMA user_version").fetchone()[0]
                if version > SCHEMA_VERSION:
                    raise InputError(
                        f"{self._folder} was made by a newer Rooftree: update this one"
                    )
                if version < 1:
                    return []
                rows = connection.execute(_NEXT, (self._seq, BATCH)).fetchall()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "busy" in str(error):
                return []
            raise JournalError(f"the journal of {self._folder} cannot be read: {error}") from None
        found = [self._dated(*row) for row in rows]
        if found:
            self._seq = found[-1][0].seq
        return found

    def _dated(self, seq: int, kind: str, payload: str, at: str) -> tuple[Event, float]:
        try:
            entry = json.loads(payload)
            if not isinstance(entry, dict):
                raise ValueError("it is no object")
            return Event(seq, kind, entry), datetime.fromisoformat(at).timestamp()
        except (TypeError, ValueError) as error:
            raise JournalError(
                f"the journal of {self._folder} is damaged: event {seq}: {error}"
            ) from None

    def is_written(self) -> bool | None:
        """Whether a process holds the run for writing; None if that cannot be told.

        It asks for the lock that a writer holds, and lets go of it at once.
        """
        try:
            descriptor = os.open(self._folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return False
