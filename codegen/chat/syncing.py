"""Having the disk keep what was written, without anybody waiting for it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path


class BackgroundSync:
    """Syncs one file to the disk in a thread of its own, some milliseconds after it was asked to.

    Requests that come while one is waiting are done with it. Thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._waiting = False
        self._last: Future[None] | None = None
        self._pool = ThreadPoolExecutor(1, "rooftree-sync")

    def request(self) -> None:
        """Have all that was written so far synced. OSError if an earlier request failed."""
        with self._lock:
            if self._last is not None and self._last.done():
                self._last.result()
            if self._waiting:
                return
            self._waiting = True
            self._last = self._pool.submit(self._sync)

    def close(self) -> None:
        """Return once everything is synced; OSError if that failed. Idempotent."""
        self._pool.shutdown()
        if self._last is not None:
            self._last.result()

    def _sync(self) -> None:
        with self._lock:
            self._waiting = False  # what is written from here on is for another request
        try:
            file = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return  # SQLite has moved it into the database, which it syncs itself
        try:
            os.fsync(file)
        finally:
            os.close(file)
