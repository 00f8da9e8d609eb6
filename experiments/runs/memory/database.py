"""The memory's file: one SQLite database per user.

Several processes may use it at once: readers never wait, writers wait their turn (WAL and a busy
timeout). A file that is not a memory, damaged, or from a newer Rooftree is never written to.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from mcts.databases import use_wal
from mcts.errors import InputError
from mcts.formats import SQLITE_ERRORS

SCHEMA_VERSION = 3
BUSY_S = 30.0
OFF_HINT = "go on without it with --memory off"
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE firing (
            run TEXT NOT NULL, node INTEGER NOT NULL, tool TEXT NOT NULL,
            gpu TEXT NOT NULL, proposer TEXT NOT NULL,
            strength REAL NOT NULL, expected_gain REAL
        ) STRICT""",
        """CREATE TABLE follow_up (
            run TEXT NOT NULL, child INTEGER NOT NULL, tool TEXT NOT NULL,
            gpu TEXT NOT NULL, proposer TEXT NOT NULL,
            expected_gain REAL, outcome TEXT NOT NULL, gain REAL
        ) STRICT""",
        "CREATE INDEX firing_run ON firing (run)",
        "CREATE INDEX follow_up_run ON follow_up (run)",
    ),
    (
        """CREATE TABLE contribution (
            id TEXT PRIMARY KEY, slot TEXT NOT NULL, kin TEXT NOT NULL,
            run TEXT NOT NULL, task TEXT NOT NULL, method TEXT NOT NULL,
            learned_at REAL NOT NULL, content TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX contribution_kin ON contribution (kin, slot)",
        "CREATE INDEX contribution_run ON contribution (run)",
    ),
    ("CREATE TABLE advice_checksum (run TEXT PRIMARY KEY, checksum TEXT NOT NULL) STRICT",),
)
"""What each version added to the one before it; a file is brought up to date step by step."""
_TABLES = ({"firing", "follow_up"}, {"contribution"}, {"advice_checksum"})
"""What each version brought, by which a file is known as ours."""

ADVICE_TABLES = ("firing", "follow_up")
"""What tools said in a run and what came of it; `advice_checksum` covers a run's rows in both."""


class MemoryUnavailable(InputError):
    """The file system refuses the memory (read-only, no permission, no space); its content is
    sound."""


class MemoryEmpty(InputError):
    """Nothing is in the file: another process is making the memory, or was stopped while it did."""


def default_path() -> Path:
    """``$XDG_DATA_HOME/rooftree/memory.sqlite`` or ``~/.local/share/rooftree/memory.sqlite``."""
    base = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
    return Path(base) / "rooftree" / "memory.sqlite"


def check_folder(path: Path) -> None:
    """MemoryUnavailable if a memory's folder does not exist; that of the user's own is made when
    it is needed.
    """
    if path != default_path() and not path.parent.is_dir():
        raise MemoryUnavailable(
            f"cannot use the memory {path}: there is no folder {path.parent}; make it, or choose "
            "another --memory"
        )


def open_memory(path: Path) -> sqlite3.Connection:
    """Open the memory for reading and writing; it is created if absent, and brought up to date.

    Raises MemoryUnavailable if its folder does not exist or the file system refuses, InputError if
    the file is damaged, not ours, or a newer Rooftree's: it is then left as it is.
    """
    check_folder(path)
    with _errors_in_words(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            if _checked_version(connection, path) < SCHEMA_VERSION:
                _migrate(connection, path)
            use_wal(connection, wait_s=BUSY_S)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection


def no_memory(path: Path) -> InputError:
    """The error for a path where no memory's file lies."""
    if path.is_dir():
        return InputError(
            f"{path} is a folder: name the memory's file, such as {path}/memory.sqlite"
        )
    return InputError(f"there is no memory {path}")


def read_memory(path: Path) -> sqlite3.Connection:
    """Open the memory for reading, whatever its version; also from a read-only medium.

    What a process that was killed had half written is taken back first. Raises as `open_memory`
    does, MemoryEmpty if nothing is in it, and InputError if there is none.
    """
    if not path.is_file():
        raise no_memory(path)
    with _errors_in_words(path):
        try:
            connection = _connect_readonly(path, "mode=ro")
            version = _checked_version(connection, path)
        except sqlite3.OperationalError:
            if _is_left(path, "-wal"):
                raise
            mode = "mode=rw" if _is_left(path, "-journal") else "mode=ro&immutable=1"
            connection = _connect_readonly(path, mode)
            version = _checked_version(connection, path)
        if version == 0:
            connection.close()
            raise MemoryEmpty(f"{path} is empty: it is no memory of Rooftree's")
        return connection


def has_contributions(connection: sqlite3.Connection) -> bool:
    """Whether the file is of a version that keeps contributions."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version) >= 2


def has_checksums(connection: sqlite3.Connection) -> bool:
    """Whether the file is of a version that keeps checksums of what tools' advice came to."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version) >= 3


def _connect_readonly(path: Path, how: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{how}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _is_left(path: Path, suffix: str) -> bool:
    """Whether SQLite's log of that suffix lies beside the file, with something in it."""
    log = path.with_name(path.name + suffix)
    return log.exists() and log.stat().st_size > 0


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    """As `_version`, all of it seen at one moment: another process may be making the file."""
    connection.execute("BEGIN")
    try:
        return _version(connection, path)
    finally:
        if connection.in_transaction:
            connection.rollback()


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The file's version, 0 for an empty file, once it is checked to be sound and a memory."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise InputError(
            f"the memory {path} was made by a newer Rooftree (version {version}, this one reads "
            f"{SCHEMA_VERSION}): update Rooftree, or {OFF_HINT}"
        )
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"database disk image is malformed: {verdict}")
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if version < 0 or (version == 0 and names) or not set().union(*_TABLES[:version]) <= names:
        raise InputError(f"{path} is no memory of Rooftree's: choose another --memory")
    return int(version)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file up to date, whole or not at all; another process may have done so already."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_version(connection, path), SCHEMA_VERSION):
            for statement in _MIGRATIONS[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _errors_in_words(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the file system into one line that a person can act on."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise MemoryUnavailable(f"cannot use the memory {path}: {why}") from None
    except sqlite3.OperationalError as error:
        raise MemoryUnavailable(f"cannot use the memory {path}: {error}") from None
    except SQLITE_ERRORS as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> InputError:
    """The error for a file that is no sound database."""
    if "not a database" in str(error):
        return InputError(f"{path} is no memory of Rooftree's: choose another --memory")
    return InputError(
        f"the memory {path} is damaged ({error}): put a copy back or move it away, or {OFF_HINT}"
    )
