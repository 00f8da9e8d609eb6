"""How the file of a journal is opened, to write it or only to read it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote


def connect(path: Path, *, mode: str = "rwc", timeout_s: float = 30.0) -> sqlite3.Connection:
    """A connection in autocommit mode, which threads may share that take turns.

    Waits `timeout_s` where others hold the file. sqlite3.DatabaseError if it cannot be opened.
    """
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=timeout_s, check_same_thread=False
    )


@contextmanager
def reading(path: Path, *, timeout_s: float = 30.0) -> Iterator[sqlite3.Connection]:
    """A connection to read with, also where the folder may not be written.

    Without a write-ahead log all is in the file itself, which is read as it stands: that leaves
    nothing behind. One that a crashed run left where nobody may write is read from a copy.
    """
    log, shared = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    if not log.exists():
        with closing(connect(path, mode="ro&immutable=1", timeout_s=timeout_s)) as connection:
            yield connection
    elif shared.exists() or os.access(path.parent, os.W_OK):
        with closing(connect(path, mode="ro", timeout_s=timeout_s)) as connection:
            yield connection
    else:
        with TemporaryDirectory(prefix="rooftree-") as folder:
            for file in (path, log):
                shutil.copyfile(file, Path(folder) / file.name)
            with closing(connect(Path(folder) / path.name)) as connection:
                yield connection
