"""What another study asked and measured, for one that asks some of the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from codegen.chat.cache import open_cache
from experiments.benchmarks.measurements.asking import ANSWERS_FILE
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from mcts.errors import InputError
from mcts.formats import SQLITE_ERRORS


def reuse(source: Path, target: Path) -> tuple[int, int]:
    """Add to a study's folder the answers and measurements of another's; how many were new.

    What the folder has already stays. Reused answers cost nothing, and reused measurements take
    none of the study's GPU minutes. InputError for a folder with neither.
    """
    check_reusable(source)
    answers, measurements = source / ANSWERS_FILE, source / MEASUREMENTS_FILE
    added = [0, 0]
    if answers.is_file():
        open_cache(target / ANSWERS_FILE).close()
        # Nobody of this study has paid for them, whatever the other one was called.
        columns = "key, request, reply, '', at"
        added[0] = _added(target / ANSWERS_FILE, answers, "answer", columns)
    if measurements.is_file():
        MeasurementStore(target / MEASUREMENTS_FILE).close()
        columns = "task, candidate, kind, payload, 0.0"
        added[1] = _added(target / MEASUREMENTS_FILE, measurements, "measurement", columns)
    return added[0], added[1]


def check_reusable(source: Path) -> None:
    """InputError for a folder that holds neither answers nor measurements."""
    if not any((source / name).is_file() for name in (ANSWERS_FILE, MEASUREMENTS_FILE)):
        raise InputError(
            f"{source} has nothing to reuse: neither {ANSWERS_FILE} nor {MEASUREMENTS_FILE}"
        )


def _added(target: Path, source: Path, table: str, columns: str) -> int:
    """Copy the rows whose key is new."""
    uri = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(target, uri=True)) as connection:
            connection.execute("ATTACH ? AS other", (uri,))
            named = "SELECT count(*) FROM other.sqlite_master WHERE name = ?"
            if connection.execute(named, (table,)).fetchone() == (0,):
                return 0  # a study that was killed before it asked or measured anything
            with connection:
                cursor = connection.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT {columns} FROM other.{table}"
                )
            return cursor.rowcount
    except SQLITE_ERRORS as error:
        raise InputError(f"{source} cannot be reused: {error}") from None
