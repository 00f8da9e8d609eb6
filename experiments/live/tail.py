"""A run's journal read as it grows, by any number of readers, without disturbing the writer."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from experiments.runs.folders import event_table
from experiments.runs.folders.event_table import Row
from experiments.runs.folders.journal import check_end, database_of
from experiments.runs.folders.journal_file import LOCK, reading
from experiments.runs.options.run_hints import has_results, lost_journal
from mcts.errors import InputError, JournalError
from mcts.formats import SQLITE_ERRORS
from mcts.ports import Event

BATCH = 2000
"""Events of one read, so that a long journal does not hold up a display."""
_BUSY_S = 1.0


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

        Raises InputError for a journal that is lost or of a newer Rooftree, JournalError for one
        that cannot be read.
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
        check_end(self._folder)
        try:
            with reading(self._path, timeout_s=_BUSY_S) as connection:
                version = event_table.version_of(connection)
                if version > event_table.SCHEMA_VERSION:
                    raise InputError(
                        f"{self._folder} was made by a newer Rooftree: update this one"
                    )
                if version < 1:
                    if has_results(self._folder):
                        raise lost_journal(self._folder, "holds no journal")
                    return []
                found = event_table.rows(connection, self._path, after=self._seq, most=BATCH)
                rows = list(found)
        except SQLITE_ERRORS as error:
            if event_table.is_busy(error):
                return []
            if event_table.is_foreign(error):
                raise event_table.translated(error, self._path) from None
            raise JournalError(f"the journal of {self._folder} cannot be read: {error}") from None
        dated = list(
            zip(event_table.events(rows, self._path), map(self._time_of, rows), strict=True)
        )
        if rows:
            self._seq = rows[-1].seq
        return dated

    def _time_of(self, row: Row) -> float:
        """Seconds since the epoch."""
        try:
            return datetime.fromisoformat(row.at).timestamp()
        except ValueError as error:
            what = f"event {row.seq}: {error}"
            raise event_table.JournalDamaged(self._path, what, sound=row.seq - 1) from None

    def is_written(self) -> bool | None:
        """Whether a process holds the run for writing; None if that cannot be told.

        It asks for the lock that a writer holds, and lets go of it at once.
        """
        try:
            descriptor = os.open(self._folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
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
