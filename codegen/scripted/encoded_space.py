"""A tunable space as whole numbers: which configurations exist, and which lie near a given one.

A configuration is a row of value positions, one column per tunable. Python evaluates each `where`
clause once per combination of the tunables it names; numpy does the rest, so that a search step
costs about a millisecond on spaces of thousands of configurations.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mcts.domain import Configuration, KernelTask, Scalar, TunableSpace, evaluate
from mcts.domain.expressions import names_in
from mcts.errors import InputError

Rows: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

ENUMERATED_ROWS = 20_000
"""Spaces up to this many configurations are held whole; larger ones are sampled around a row."""
_PARTIAL_ROWS = 400_000
_FAR_DRAWS = 256


class EncodedSpace:
    """The configurations a task allows on all of its workloads."""

    def __init__(self, space: TunableSpace, task: KernelTask) -> None:
        self.names = tuple(space.tunables)
        self.values = tuple(tunable.values for tunable in space.tunables.values())
        self.defaults = np.array(
            [tunable.values.index(tunable.default) for tunable in space.tunables.values()],
            dtype=np.int64,
        )
        self._positions = tuple({value: at for at, value in enumerate(v)} for v in self.values)
        self._shapes = [dict(workload.shape) for workload in task.workloads]
        self._clauses = [_Clause(text, self, self._shapes) for text in space.where]
        self.rows = self._recorded(space) if space.rows else self._enumerate()
        """All allowed rows in natural order, or None if they are too many to hold."""

    @property
    def bits(self) -> float:
        """log2 of the number of configurations, or of combinations if those are too many."""
        if self.rows is not None:
            return math.log2(max(1, len(self.rows)))
        return sum(math.log2(len(values)) for values in self.values)

    def encode(self, configuration: Configuration) -> Rows:
        """The row of a configuration; what is undeclared or missing falls back to the default."""
        row = self.defaults.copy()
        for column, name in enumerate(self.names):
            if name in configuration:
                row[column] = self._positions[column].get(configuration[name], row[column])
        return row

    def decode(self, row: Rows) -> dict[str, Scalar]:
        return {
            name: values[at]
            for name, values, at in zip(self.names, self.values, row.tolist(), strict=True)
        }

    def neighbourhood(self, row: Rows, rng: random.Random) -> Rows:
        """Rows to choose the next one from: all others, or in a large space those one or two
        changes away with some far draws.
        """
        if self.rows is not None:
            others: Rows = self.rows[(self.rows != row).any(axis=1)]
            return others
        near = [*self._single_changes(row), *self._pair_changes(row), *self._far_rows(row, rng)]
        pool = np.unique(np.array(near, dtype=np.int64), axis=0)
        allowed: Rows = pool[self.allowed(pool) & (pool != row).any(axis=1)]
        return allowed

    def where(self, texts: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Rows x (texts x workloads): which of these expressions over tunables and shapes hold."""
        found = [
            _Clause(text, self, [shape]).holds(rows) for text in texts for shape in self._shapes
        ]
        return np.column_stack(found) if found else np.zeros((len(rows), 0), dtype=np.bool_)

    def allowed(self, rows: Rows) -> Mask:
        """Which rows satisfy every `where` clause on every workload."""
        keep = np.ones(len(rows), dtype=np.bool_)
        for clause in self._clauses:
            keep[keep] = clause.holds(rows[keep])
        return keep

    def _recorded(self, space: TunableSpace) -> Rows:
        rows = np.array(
            [
                [positions[value] for positions, value in zip(self._positions, row, strict=True)]
                for row in space.rows
            ],
            dtype=np.int64,
        )
        return rows[self.allowed(rows)]

    def _enumerate(self) -> Rows | None:
        """Grow rows one tunable at a time, dropping what a clause forbids as soon as it can."""
        rows = np.zeros((1, 0), dtype=np.int64)
        for column, values in enumerate(self.values):
            if len(rows) * len(values) > _PARTIAL_ROWS:
                return None
            grown = np.repeat(rows, len(values), axis=0)
            fresh = np.tile(np.arange(len(values), dtype=np.int64), len(rows))
            rows = np.column_stack([grown, fresh])
            for clause in self._clauses:
                if clause.complete_at == column:
                    rows = rows[clause.holds(rows)]
        for clause in self._clauses:
            if clause.complete_at < 0:
                rows = rows[clause.holds(rows)]
        return rows if len(rows) <= ENUMERATED_ROWS else None

    def _single_changes(self, row: Rows) -> list[Rows]:
        return [
            _with(row, {column: at})
            for column, values in enumerate(self.values)
            for at in range(len(values))
            if at != row[column]
        ]

    def _pair_changes(self, row: Rows) -> list[Rows]:
        return [
            _with(row, {first: a, second: b})
            for first in range(len(self.names))
            for second in range(first)
            for a in range(len(self.values[first]))
            for b in range(len(self.values[second]))
            if a != row[first] and b != row[second]
        ]

    def _far_rows(self, row: Rows, rng: random.Random) -> list[Rows]:
        """Random rows that keep about half of the present values."""
        return [
            np.array(
                [
                    rng.randrange(len(values)) if rng.random() < 0.5 else row[column]
                    for column, values in enumerate(self.values)
                ],
                dtype=np.int64,
            )
            for _ in range(_FAR_DRAWS)
        ]


def _with(row: Rows, changes: Mapping[int, int]) -> Rows:
    changed = row.copy()
    for column, at in changes.items():
        changed[column] = at
    return changed


class _Clause:
    """One `where` expression over some columns, remembered for each combination of them.

    A combination on which the expression has no value (a division by zero that an earlier clause
    guards against, say) counts as forbidden.
    """

    def __init__(self, text: str, encoded: EncodedSpace, shapes: list[dict[str, int]]) -> None:
        used = names_in(text)
        self._text = text
        self._columns = [c for c, name in enumerate(encoded.names) if name in used]
        self._names = [encoded.names[c] for c in self._columns]
        self._values = [encoded.values[c] for c in self._columns]
        self._sizes = [len(values) for values in self._values]
        # Without a shape variable in it, the clause says the same on every workload.
        self._shapes = shapes if used - set(encoded.names) else shapes[:1]
        self._known: dict[int, bool] = {}
        self.complete_at = max(self._columns, default=-1)

    def holds(self, rows: Rows) -> Mask:
        keys = np.zeros(len(rows), dtype=np.int64)
        for column, size in zip(self._columns, self._sizes, strict=True):
            keys = keys * size + rows[:, column]
        distinct, where = np.unique(keys, return_inverse=True)
        verdicts = [self._verdict(key) for key in distinct.tolist()]
        return np.array(verdicts, dtype=np.bool_)[where.reshape(-1)]

    def _verdict(self, key: int) -> bool:
        if key not in self._known:
            self._known[key] = self._evaluate(key)
        return self._known[key]

    def _evaluate(self, key: int) -> bool:
        names: dict[str, Scalar] = {}
        for name, values in zip(reversed(self._names), reversed(self._values), strict=True):
            key, at = divmod(key, len(values))
            names[name] = values[at]
        try:
            return all(bool(evaluate(self._text, {**shape, **names})) for shape in self._shapes)
        except InputError:
            return False
