"""The branches of a run's proposals: which values were tried, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codegen.dialects.kernelbench.constants import declared_constants
from experiments.text.changes import changes
from mcts.domain import Candidate, Evaluation, Scalar
from mcts.errors import InputError, JournalError
from mcts.journal.reading import EventReader
from mcts.journal.record import NodeRecord
from mcts.journal.runlog import DAMAGES
from mcts.loop.progress import status_words
from mcts.ports import Event

_READ = frozenset({"proposed", "tuned", "branched", "measured"})


@dataclass(frozen=True, slots=True)
class Tried:
    """A branch that lost to its trial's node. `evaluation` is None for one that is not known."""

    candidate: Candidate
    evaluation: Evaluation | None

    @property
    def outcome(self) -> str:
        """``12.30 us, 1.25x``, or how it failed."""
        return _outcome(self.evaluation)


Branches = Mapping[int, tuple[Tried, ...]]
"""By node, the branches that lost to it."""


def read_branches(events: Iterable[Event]) -> Branches:
    """The losing branches of every trial that had several. JournalError for a damaged journal."""
    events = tuple(events)
    if not any(event.kind == "branched" for event in events):
        return {}
    reader = EventReader()
    try:
        for event in events:
            if event.kind in _READ:
                reader.take(event)
    except DAMAGES as error:
        raise JournalError(f"the run's journal is damaged: {error}") from error
    return {
        trial: tuple(
            Tried(candidate, reader.evaluation(id))
            for id in ids
            if (candidate := reader.candidate(trial, id)) is not None
        )
        for trial, ids in reader.branches.items()
    }


def branch_rows(node: NodeRecord, tried: tuple[Tried, ...]) -> list[tuple[str, str, str]]:
    """Values, time and fate of each branch of a node; first the one that became the node."""
    if node.candidate is None:
        return []
    rows = [(_values(node.candidate, node.candidate, tried), _outcome(node.evaluation), "kept")]
    for branch in tried:
        values = _values(branch.candidate, node.candidate, tried)
        rows.append((values, branch.outcome, ""))
    return rows


def _values(branch: Candidate, kept: Candidate, tried: tuple[Tried, ...]) -> str:
    """What tells a branch from the others: those of its values in which any of them differ."""
    all_ = [_settings(kept), *(_settings(other.candidate) for other in tried)]
    mine = _settings(branch)
    names = dict.fromkeys(name for one in all_ for name in one)
    differing = [name for name in names if len({repr(one.get(name)) for one in all_}) > 1]
    if differing:
        return ", ".join(f"{name} = {mine.get(name, '–')}" for name in differing)
    return ", ".join(changes(kept, branch).words()) or "as proposed"


def _settings(candidate: Candidate) -> Mapping[str, Scalar]:
    """Its tunables; of a Python file that has none, its marked constants."""
    if candidate.tunables:
        return candidate.tunables
    try:
        return declared_constants(candidate.source).default()
    except InputError:
        return {}


def _outcome(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "not measured"
    if not evaluation.measured or evaluation.timing is None:
        return status_words(evaluation)
    return f"{evaluation.timing.median_us:.2f} us, {evaluation.timing.speedup:.2f}x"
