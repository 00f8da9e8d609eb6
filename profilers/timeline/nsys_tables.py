"""Tables of an untrusted SQLite file from nsys.

The file may come from anywhere: only the tables named here are ever read (an export also holds the
environment of the profiled process), nothing in it is executed, and rows and time are bounded.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mcts.errors import InputError

KERNELS, GRAPHS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
COPIES, MEMSETS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
STRINGS, COPY_KINDS, MEMORY_KINDS = "StringIds", "ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"
TABLES = frozenset({KERNELS, GRAPHS, COPIES, MEMSETS, *CALLS, STRINGS, COPY_KINDS, MEMORY_KINDS})
MOST_ROWS = 1_000_000
MOST_SECONDS = 60.0
_MOST_TEXT = 4096
_BATCH = 500

Cell = int | str | float | bytes | None


@contextlib.contextmanager
def open_tables(path: Path) -> Iterator[Tables]:
    """Open the tables of an export.

    Raises InputError, also inside of the context, if it is not an export, damaged or too large.
    """
    if not path.is_file():
        raise InputError(f"{path} is no file")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: export the report again with nsys export")
    try:
        with contextlib.closing(_connect(path)) as connection:
            yield Tables(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: its own message is damaged
        if "interrupted" in str(error):
            raise InputError(
                f"reading {path} took longer than {MOST_SECONDS:g} s: profile a shorter run"
            ) from None
        raise InputError(f"{path} is no readable export of Nsight Systems: {error}") from None


class Tables:
    """The tables of an export; `missing` collects what they do not contain."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.missing: dict[str, str] = {}
        self._connection = connection
        self._path = path
        self._columns = dict(self._present())
        if not self._columns.keys() & {STRINGS, KERNELS, *CALLS}:
            raise InputError(f"{path} is an SQLite file, but no export of Nsight Systems")

    def rows(self, table: str, columns: Sequence[str], *, what: str) -> list[list[Cell]]:
        """Values of `columns`, the first two being `start` and `end`, of rows with usable times.

        Columns that this version lacks are None; tables that it lacks have no rows.
        """
        present = self._columns.get(table)
        if present is None:
            return []
        if lacking := sorted(set(columns[:2]) - present):
            self.missing[what] = f"the export's table {table} has no column {lacking[0]}"
            return []
        chosen = ", ".join(f'"{name}"' if name in present else "NULL" for name in columns)
        query = f'SELECT {chosen} FROM "{table}" LIMIT {MOST_ROWS + 1}'
        found: list[list[Cell]] = []
        odd = 0
        for number, row in enumerate(self._connection.execute(query)):
            if number == MOST_ROWS:
                raise InputError(
                    f"{self._path} holds more than {MOST_ROWS:,} {what}: profile a shorter run"
                )
            start, end = row[0], row[1]
            if isinstance(start, int) and isinstance(end, int) and end >= start:
                found.append(list(row))
            else:
                odd += 1
        if odd:
            self.missing[f"some {what}"] = f"{odd} have no usable times in the export"
        return found

    def texts(self, ids: Iterable[Cell]) -> dict[int, str]:
        """The strings with these numbers, cut at a few thousand characters, without unknown
        ones."""
        if not {"id", "value"} <= self._columns.get(STRINGS, frozenset()):
            return {}
        wanted = sorted({n for n in ids if isinstance(n, int)})
        found: dict[int, str] = {}
        for at in range(0, len(wanted), _BATCH):
            some = wanted[at : at + _BATCH]
            query = (
                f"SELECT id, substr(value, 1, {_MOST_TEXT}) FROM {STRINGS} "
                f"WHERE id IN ({', '.join('?' * len(some))}) LIMIT {MOST_ROWS}"
            )
            found |= {n: str(text) for n, text in self._connection.execute(query, some)}
        return found

    def enumeration(self, table: str) -> dict[int, str]:
        """Names such as `HTOD` (of `CUDA_MEMCPY_KIND_HTOD`) by number; empty without such a
        table."""
        if not {"id", "name"} <= self._columns.get(table, frozenset()):
            return {}
        query = f"SELECT id, substr(name, 1, {_MOST_TEXT}) FROM {table} LIMIT 1000"
        pairs = self._connection.execute(query)
        return {n: str(name).rpartition("_KIND_")[2] for n, name in pairs if isinstance(n, int)}

    def _present(self) -> Iterator[tuple[str, frozenset[str]]]:
        marks = ", ".join("?" * len(TABLES))
        query = f"SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name IN ({marks})"
        for name, sql in self._connection.execute(query, sorted(TABLES)).fetchall():
            if str(sql).upper().startswith("CREATE TABLE"):  # a virtual table is code
                found = self._connection.execute(f"PRAGMA table_info({name})")
                yield name, frozenset(row[1] for row in found)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.set_authorizer(_allowed)
    until = time.monotonic() + MOST_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    return connection


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """An authorizer that only allows reading `TABLES`: no views, no other tables or functions."""
    allowed = (
        action == sqlite3.SQLITE_SELECT
        or (action == sqlite3.SQLITE_READ and first in {*TABLES, "sqlite_master"})
        or (action == sqlite3.SQLITE_FUNCTION and second == "substr")
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_info")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
