"""The candidates of one source as rows of whole numbers, and what a run has observed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.encoded_space import EncodedSpace, Rows
from mcts.domain import Candidate, KernelTask, Scalar, declared_space, parse_launch_plan
from mcts.errors import InputError
from mcts.ports import Attempt

MAX_HISTORY = 128
"""So many of the latest candidates have a say in what a run's times say."""


class CandidateSpace:
    """A source's tunables and their encoded, with what was computed so far of its candidates: ids
    by row, and rows by id.

    related[i, j]: tunables i and j exercise a common method.
    """

    def __init__(self, task: KernelTask, source: str) -> None:
        space = declared_space(task, source)
        self.tunables = space.tunables
        self.encoded = EncodedSpace(space, task)
        methods = [set(tunable.methods) for tunable in space.tunables.values()]
        self.related: NDArray[np.bool_] = np.array(
            [[bool(a & b) for b in methods] for a in methods], dtype=np.bool_
        )
        if methods:
            np.fill_diagonal(self.related, False)
        self._launched = _conditions(source)
        self._source = source
        self._ids: dict[tuple[int, ...], str] = {}
        self._rows: dict[str, Rows] = {}

    def id_of(self, row: Rows) -> str:
        """The id of the candidate at `row`."""
        key = tuple(row.tolist())
        found = self._ids.get(key)
        if found is None:
            found = Candidate(source=self._source, tunables=self.encoded.decode(row)).id
            self._ids[key] = found
        return found

    def launches(self, rows: Rows) -> NDArray[np.bool_]:
        """Rows x (conditions x workloads): which of the plan's conditional launches each runs."""
        return self.encoded.where(self._launched, rows)

    def row_of(self, candidate: Candidate) -> Rows:
        """The row of a candidate of this source."""
        found = self._rows.get(candidate.id)
        if found is None:
            found = self._rows[candidate.id] = self.encoded.encode(candidate.tunables)
        return found

    def observed(self, history: Sequence[Attempt]) -> tuple[Rows, NDArray[np.float64]]:
        """The latest configurations of this source that were judged, as rows, and their log
        speedups, NaN for what failed."""
        seen = [
            (self.row_of(one.candidate), one.evaluation.speedup or math.nan)
            for one in history[-MAX_HISTORY:]
            if one.candidate and one.evaluation and one.candidate.source == self._source
        ]
        rows = np.array([row for row, _ in seen], dtype=np.int64)
        return rows, np.log(np.array([speedup for _, speedup in seen], dtype=np.float64))


def _conditions(source: str) -> tuple[str, ...]:
    """On what the launches of a source's plan depend; nothing without a plan."""
    try:
        plan = parse_launch_plan(source)
    except InputError:
        return ()
    return tuple(dict.fromkeys(step.when for step in plan.launch if step.when is not None))


@dataclass(frozen=True, slots=True)
class TaskKey:
    """Lets a task be a cache key by its id, and by which combinations exist."""

    task: KernelTask = field(compare=False)
    id: str = ""
    rows: frozenset[tuple[Scalar, ...]] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.task.id)
        object.__setattr__(self, "rows", self.task.space.row_set)


def candidate_space(key: TaskKey, source: str) -> CandidateSpace:
    """The space of a source, from what a cache can hold it by."""
    return CandidateSpace(key.task, source)
