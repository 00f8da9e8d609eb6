"""Evaluations and profiles by task and candidate, in one SQLite file of a study's folder."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from experiments.runs.wiring.choosing import REPLAY
from mcts.databases import use_wal
from mcts.domain import sealed, unsealed
from mcts.errors import InputError, WorldError
from mcts.formats import SQLITE_ERRORS, parse_json

MEASUREMENTS_FILE = "measurements.sqlite"
SCHEMA_VERSION = 1
Kind = Literal["evaluator", "refusal", "candidate", "evaluation", "confirmation", "profile"]
"""What is kept: who measures a task or why nobody does (the candidate's id is empty), the
candidates themselves, and what was measured of each."""

_WAIT_S = 30.0
_CREATE = """
CREATE TABLE IF NOT EXISTS measurement (
    task TEXT NOT NULL,
    candidate TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (task, candidate, kind)
) STRICT
"""


class MeasurementStore:
    """Keeps what was measured; the first entry of its kind stays. Thread-safe.

    An entry would survive a power cut once `keep` returns. Each has a checksum: one that was
    changed is refused. InputError for a file that is no such store, or with `read_only` for one
    that is not there.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path, self._lock = path, threading.Lock()
        if read_only and not path.is_file():
            raise InputError(f"{path} does not exist: the study has measured nothing here")
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
                uri=True,
                isolation_level=None,
                timeout=_WAIT_S,
                check_same_thread=False,
            )
            try:
                self._prepare(read_only=read_only)
            except BaseException:
                self._connection.close()
                raise
        except SQLITE_ERRORS as error:
            raise InputError(f"{path} cannot be read as a study's measurements: {error}") from None

    def _prepare(self, *, read_only: bool) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise InputError(f"{self._path} was made by a newer Rooftree: update Rooftree")
        if read_only:
            self._connection.execute("SELECT count(*) FROM measurement")
            return
        use_wal(self._connection, wait_s=_WAIT_S)
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_CREATE)
        self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def find(self, task: str, candidate: str, kind: Kind) -> dict[str, Any] | None:
        """What is known, None if nothing is. InputError for an entry that was changed."""
        rows = self._run(
            "SELECT payload FROM measurement WHERE task = ? AND candidate = ? AND kind = ?",
            (task, candidate, kind),
        )
        if not rows:
            return None
        try:
            return unsealed(parse_json(rows[0][0]))
        except (ValueError, AttributeError) as error:
            raise InputError(
                f"{self._path}: the {kind} of {candidate or task} is damaged ({error}): put a copy "
                "of the file back"
            ) from None

    def hardware_names(self) -> frozenset[str]:
        """The GPUs that tasks were measured on, recordings' left out."""
        rows = self._run("SELECT payload FROM measurement WHERE kind = 'evaluator'", ())
        found = (parse_json(payload) for (payload,) in rows)
        return frozenset(one["hardware"]["name"] for one in found if one["name"] != REPLAY)

    def keep(
        self, task: str, candidate: str, kind: Kind, payload: Mapping[str, Any], *, seconds: float
    ) -> None:
        """Keep what was just found, and the seconds that it took on the device."""
        text = json.dumps(sealed(dict(payload)), ensure_ascii=False)
        self._run(
            "INSERT INTO measurement VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (task, candidate, kind, text, seconds),
        )

    @property
    def seconds(self) -> float:
        """How long all that is kept took to measure."""
        return float(self._run("SELECT total(seconds) FROM measurement", ())[0][0])

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, values: Sequence[str | float]) -> list[Any]:
        """The rows; damage may show only when they are fetched."""
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except SQLITE_ERRORS as error:
            raise WorldError(f"{self._path} cannot be used: {error}") from None
