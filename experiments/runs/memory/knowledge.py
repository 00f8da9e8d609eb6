"""The store of what runs have learned: contributions in the user's memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from experiments.runs.memory.database import (
    ADVICE_TABLES,
    damaged,
    has_contributions,
    no_memory,
    open_memory,
    read_memory,
)
from experiments.runs.memory.export import content_of, group_of, read_content, read_lines
from mcts.domain import tagged_hash
from mcts.errors import WorldError
from mcts.formats import SQLITE_ERRORS
from mcts.knowledge.base import Knowledge
from mcts.knowledge.contribution import Contribution

MAX_PER_GROUP = 256
"""Contributions kept of one task, state and act: more of the same would weigh little."""
MAX_CONTRIBUTIONS = 100_000
"""Contributions kept in all, which take about 100 MB."""
_THIN_GROUPS = """
DELETE FROM contribution WHERE id IN (
    SELECT id FROM (
        SELECT id, DENSE_RANK() OVER (PARTITION BY kin ORDER BY slot) AS place FROM contribution
    ) WHERE place > :most
)
"""
_THIN_ALL = """
DELETE FROM contribution WHERE id IN (
    SELECT id FROM contribution ORDER BY slot, id LIMIT -1 OFFSET :most
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetFilter:
    """Which contributions to forget: those that match every field that is given.

    before: seconds since the epoch; what was learned or imported earlier than that.
    """

    run: str | None = None
    task: str | None = None
    method: str | None = None
    before: float | None = None


class KnowledgeStore:
    """Contributions by content, so that adding one again changes nothing.

    If there are too many, those whose slots have the smallest hashes are kept. Which these are does
    not depend on the order in which they came, so that the stores of a team stay equal (bottom-k
    samples; Cohen and Kaplan, Summarizing Data Using Bottom-k Sketches, 2007).
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._connection = read_memory(path) if readonly else open_memory(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, contributions: Iterable[Contribution]) -> int:
        """Keep what is new, all or nothing; returns how many were. WorldError if it cannot."""
        now = time.time()
        rows = [
            (one.id, tagged_hash("slot", list(one.slot)), group_of(one), one.run, one.task,
             one.method, now, content_of(one))
            for one in contributions
        ]  # fmt: skip
        with self._writing() as connection:
            before = connection.total_changes
            connection.executemany(
                "INSERT OR IGNORE INTO contribution VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
            added = connection.total_changes - before
            connection.execute(_THIN_GROUPS, {"most": MAX_PER_GROUP})
            connection.execute(_THIN_ALL, {"most": MAX_CONTRIBUTIONS})
        return added

    def contributions(self) -> list[Contribution]:
        """All of them, by id. InputError if one cannot be what was written."""
        try:
            if not has_contributions(self._connection):
                return []
            query = "SELECT id, content FROM contribution ORDER BY id"
            rows = self._connection.execute(query).fetchall()
        except SQLITE_ERRORS as error:
            raise damaged(self.path, error) from None
        return [read_content(text, id=id, place=f"the memory {self.path}") for id, text in rows]

    def knowledge(self, *, besides: str | None = None) -> Knowledge:
        """Their sums, without those of the task `besides`."""
        return Knowledge.of(self.contributions(), besides=besides)

    def forget(self, what: ForgetFilter) -> int:
        """Delete contributions; returns how many. Exports that were made of them are not touched.

        A run's findings of tools go with it; without any field everything is deleted.
        """
        where, values = _condition(what)
        with self._writing() as connection:
            before = connection.total_changes
            connection.execute(f"DELETE FROM contribution WHERE {where}", values)
            forgotten = connection.total_changes - before
            if what in (ForgetFilter(run=what.run), ForgetFilter()):
                for table in (*ADVICE_TABLES, "advice_checksum"):
                    scope, run = ("run = ?", [what.run]) if what.run else ("TRUE", [])
                    connection.execute(f"DELETE FROM {table} WHERE {scope}", run)
        return forgotten

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. WorldError if the file cannot be written."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except SQLITE_ERRORS as error:
            raise WorldError(f"the memory {self.path} cannot be written: {error}") from None


def _condition(what: ForgetFilter) -> tuple[str, list[str | float]]:
    clauses, values = ["TRUE"], list[str | float]()
    if what.run is not None:
        clauses.append("run = ?")
        values.append(what.run)
    if what.task is not None:
        clauses.append("task = ?")
        values.append(what.task)
    if what.method is not None:
        clauses.append("method = ?")
        values.append(what.method)
    if what.before is not None:
        clauses.append("learned_at < ?")
        values.append(what.before)
    return " AND ".join(clauses), values


COLD = "cold"


def knowledge_from(given: str, *, besides: str | None = None) -> Knowledge:
    """What a run begins with: nothing for `cold`, else what a memory or an export holds.

    `besides` leaves out what was learned on that task, as a study must that asks what knowledge
    from other tasks is worth. InputError for a file that is neither.
    """
    if given == COLD:
        return Knowledge()
    path = Path(given)
    if path.suffix == ".jsonl":
        return Knowledge.of(read_lines(path), besides=besides)
    if not path.is_file():
        raise no_memory(path)
    with KnowledgeStore(path, readonly=True) as store:
        return store.knowledge(besides=besides)
