"""The file of a journal: opening it to write or to read, and the lock of its one writer."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from mcts.errors import InputError, JournalError

LOCK = "run.lock"
"""Made by whoever begins a run in a folder, and locked by whoever writes there."""
_MAGIC, _HEADER_BYTES, _LARGEST_PAGE = b"SQLite format 3\0", 100, 65536
_LOCK_WAITS_S = (0.02, 0.05)


def connect(path: Path, *, mode: str = "rwc", timeout_s: float = 30.0) -> sqlite3.Connection:
    """A connection in autocommit mode that threads may share if they take turns.

    Waits `timeout_s` if others hold the file. sqlite3.DatabaseError if it cannot be opened.
    """
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=timeout_s, check_same_thread=False
    )


@contextmanager
def reading(path: Path, *, timeout_s: float = 30.0) -> Iterator[sqlite3.Connection]:
    """A connection to read with, also if the folder may not be written.

    Without a write-ahead log all is in the file itself, which is read as it stands: that leaves
    nothing behind. One that a crashed run left in a read-only folder is read from a copy, and so is
    a file that lost its end, of which SQLite reads nothing otherwise.
    """
    log, shared = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    if missing := missing_bytes(path):
        with _copied(path) as copy:
            os.truncate(copy, copy.stat().st_size + missing)
            with closing(connect(copy)) as connection:
                yield connection
    elif not log.exists():
        with closing(connect(path, mode="ro&immutable=1", timeout_s=timeout_s)) as connection:
            yield connection
    elif shared.exists() or os.access(path.parent, os.W_OK):
        with closing(connect(path, mode="ro", timeout_s=timeout_s)) as connection:
            yield connection
    else:
        with _copied(path, log) as copy, closing(connect(copy)) as connection:
            yield connection


@contextmanager
def _copied(path: Path, *more: Path) -> Iterator[Path]:
    """A copy of a file, with others beside it."""
    with TemporaryDirectory(prefix="rooftree-") as folder:
        for file in (path, *more):
            shutil.copyfile(file, Path(folder) / file.name)
        yield Path(folder) / path.name


def missing_bytes(path: Path) -> int:
    """How many bytes a database is shorter than its header says.

    0 if it cannot be read or has no whole header, and beside a write-ahead log, which may hold what
    is missing.
    https://www.sqlite.org/fileformat.html, section 1.3: the page size at byte 16, where 1 means
    65,536, and the number of pages at byte 28, valid if the counts at bytes 24 and 92 agree.
    """
    try:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            return 0
        with path.open("rb") as stream:
            header = stream.read(_HEADER_BYTES)
            size = os.fstat(stream.fileno()).st_size
    except OSError:
        return 0
    whole = len(header) == _HEADER_BYTES and header.startswith(_MAGIC)
    if not whole or header[24:28] != header[92:96]:
        return 0
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    return max(0, pages * (_LARGEST_PAGE if page == 1 else page) - size)


def lock(folder: Path) -> int:
    """Take the writer's exclusive lock on a run folder; returns its file descriptor.

    Raises InputError if another process holds it, JournalError if the folder cannot be written.
    """
    try:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a run folder: it does not exist")
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise JournalError(f"cannot write in {folder}: {error.strerror}") from None
    try:
        _lock_whole(descriptor)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise InputError(
                f"{folder} is in use by another rooftree process: wait for it, or stop it first"
            ) from None
        raise JournalError(f"cannot lock {folder}: {error.strerror}") from None
    return descriptor


def _lock_whole(descriptor: int) -> None:
    """Lock, with two short retries: a process that watches the run takes a shared lock at times."""
    for wait_s in (*_LOCK_WAITS_S, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if wait_s is None:
                raise
            time.sleep(wait_s)
        else:
            return
