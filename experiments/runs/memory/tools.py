"""What the tools' advice was worth, over all runs of a user.

Rows are kept under the run they come from: a resumed run replaces its earlier rows, so that nothing
counts twice. A checksum covers the rows of each run; those that older versions wrote have none.
"""

from __future__ import annotations

import math
import shlex
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from experiments.runs.memory.advice import Firing, FollowUp
from experiments.runs.memory.database import (
    ADVICE_TABLES,
    OFF_HINT,
    damaged,
    default_path,
    has_checksums,
    open_memory,
    read_memory,
)
from mcts.domain import tagged_hash
from mcts.errors import InputError, WorldError
from mcts.formats import SQLITE_ERRORS

__all__ = ["ToolMemory", "ToolStatistics", "default_path"]

GREAT_GAIN = 1.5
"""The gain from which KernelPro counts a firing as a hit; shown beside our own."""
_STATISTICS = """
SELECT tool, gpu, proposer, SUM(fired), SUM(followed), SUM(improved), SUM(great), SUM(failed),
       SUM(log_gain), SUM(predicted), SUM(log_predicted), SUM(log_of_predicted)
FROM (
    SELECT tool, gpu, proposer, 1 AS fired, 0 AS followed, 0 AS improved, 0 AS great, 0 AS failed,
           0.0 AS log_gain, 0 AS predicted, 0.0 AS log_predicted, 0.0 AS log_of_predicted
    FROM firing
    UNION ALL
    SELECT tool, gpu, proposer, 0, 1, outcome = 'improved', COALESCE(gain > :great, 0),
           outcome = 'failed', COALESCE(LN(gain), 0.0),
           expected_gain IS NOT NULL AND gain IS NOT NULL,
           CASE WHEN gain IS NULL THEN 0.0 ELSE COALESCE(LN(expected_gain), 0.0) END,
           CASE WHEN expected_gain IS NULL THEN 0.0 ELSE COALESCE(LN(gain), 0.0) END
    FROM follow_up
)
GROUP BY tool, gpu, proposer ORDER BY tool, gpu, proposer
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatistics:
    """One tool on one GPU with one proposer.

    followed: children that took its advice; improved: those faster beyond noise; great: those more
    than 1.5 times faster; failed: those without a result. `mean_log_gain` is over the followed
    that were measured. Where the tool predicted a gain, `predicted_gain` and `realised_gain` are
    the geometric means over the same children.
    """

    tool: str
    gpu: str
    proposer: str
    fired: int
    followed: int
    improved: int
    great: int
    failed: int
    mean_log_gain: float
    predicted_gain: float | None
    realised_gain: float | None

    @property
    def mean_gain(self) -> float | None:
        """Geometric mean of parent's time over child's; None if no follower was measured."""
        return math.exp(self.mean_log_gain) if self.followed > self.failed else None


class ToolMemory:
    """The store. Opening it creates the file; InputError if that is not ours to read.

    `readonly`: the file is left as it is, and must be there.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._connection = read_memory(path) if readonly else open_memory(path)
        self._connection.create_function("LN", 1, _log, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def learn(
        self,
        run: str,
        *,
        gpu: str,
        proposer: str,
        fired: Iterable[Firing],
        followed: Iterable[FollowUp],
    ) -> None:
        """Replace the rows of a run. WorldError if the file cannot be written."""
        try:
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                for table in ADVICE_TABLES:
                    connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
                connection.executemany(
                    "INSERT INTO firing VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (run, one.node, one.tool, gpu, proposer, one.strength, one.expected_gain)
                        for one in fired
                    ],
                )
                connection.executemany(
                    "INSERT INTO follow_up VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (run, one.child, one.tool, gpu, proposer, one.expected_gain, one.outcome,
                         one.gain)
                        for one in followed
                    ],
                )  # fmt: skip
                connection.execute(
                    "INSERT OR REPLACE INTO advice_checksum VALUES (?, ?)",
                    (run, _checksum(connection, run)),
                )
        except SQLITE_ERRORS as error:
            raise WorldError(f"the memory {self.path} cannot be written: {error}") from None

    def _check(self) -> None:
        """Raise InputError if the rows of a run are not those that were written."""
        if not has_checksums(self._connection):
            return
        kept = self._connection.execute("SELECT run, checksum FROM advice_checksum").fetchall()
        for run, checksum in kept:
            if _checksum(self._connection, run) != checksum:
                raise InputError(
                    f"the memory {self.path} is damaged (what tools' advice came to in run {run} "
                    f"was changed): put a copy back, forget that run with rooftree memory forget "
                    f"--memory {shlex.quote(str(self.path))} --run {shlex.quote(run)}, or "
                    f"{OFF_HINT}"
                )

    def statistics(
        self, *, gpu: str | None = None, proposer: str | None = None
    ) -> list[ToolStatistics]:
        """Per tool, GPU and proposer; only those of `gpu` and `proposer` if given.

        InputError if the rows of a run were changed.
        """
        connection = self._connection
        try:
            connection.execute("BEGIN")  # all of one moment: another run may teach meanwhile
            try:
                self._check()
                with closing(connection.execute(_STATISTICS, {"great": GREAT_GAIN})) as cursor:
                    rows = [_statistics(row) for row in cursor]
            finally:
                if connection.in_transaction:
                    connection.rollback()
        except SQLITE_ERRORS as error:
            raise damaged(self.path, error) from None
        return [row for row in rows if gpu in (None, row.gpu) and proposer in (None, row.proposer)]


def _checksum(connection: sqlite3.Connection, run: str) -> str:
    """The checksum of a run's rows."""
    return tagged_hash(
        "advice",
        [
            connection.execute(
                f"SELECT * FROM {table} WHERE run = ? ORDER BY rowid", (run,)
            ).fetchall()
            for table in ADVICE_TABLES
        ],
    )


def _statistics(row: tuple[str | int | float, ...]) -> ToolStatistics:
    tool, gpu, proposer = map(str, row[:3])
    fired, followed, improved, great, failed = (int(value) for value in row[3:8])
    log_gain, predicted, log_predicted, log_realised = (float(value) for value in row[8:])
    measured = followed - failed
    return ToolStatistics(
        tool=tool,
        gpu=gpu,
        proposer=proposer,
        fired=fired,
        followed=followed,
        improved=improved,
        great=great,
        failed=failed,
        mean_log_gain=log_gain / measured if measured else 0.0,
        predicted_gain=math.exp(log_predicted / predicted) if predicted else None,
        realised_gain=math.exp(log_realised / predicted) if predicted else None,
    )


def _log(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log(value)
