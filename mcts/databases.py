"""SQLite files that several processes may make at once."""

from __future__ import annotations

import sqlite3
import time

_POLL_S = 0.01


def use_wal(connection: sqlite3.Connection, *, wait_s: float) -> None:
    """Switch a database to write-ahead logging, trying for `wait_s` while others have it open.

    SQLite's own timeout does not count for this: of eight processes that make the same file at
    once, one in forty failed. Raises sqlite3.OperationalError if it stays locked.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)
