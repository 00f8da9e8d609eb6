"""A run as its journal tells it: the tree's nodes with everything known about each.

Reading never measures and never asks the search, so that it works on a finished run, on one
still going and on one that crashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcts.domain import Attribution, Candidate, Evaluation, Guidance, Roofline, tagged_hash
from mcts.domain.objective import Ranking, standing
from mcts.errors import JournalError
from mcts.journal.reading import RUNNING, EventReader
from mcts.journal.runlog import DAMAGES
from mcts.journal.spending import NOTHING, Spending
from mcts.options.search import Objective
from mcts.ports import Event
from mcts.search.backup import settle
from mcts.search.tree import FIXED_POINT, Tree
from mcts.search.trial import Outcome, OutcomeKind

__all__ = ["RUNNING", "NodeKind", "NodeRecord", "Result", "outcome_of", "read_result"]

NodeKind = Literal["measured", "failed", "rejected", "duplicate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node. `value` is the subtree's mean reward, `reward` the node's own.

    `rejected` nodes have no evaluation, and no candidate where the reply held none.
    `duplicate_of` is the node that was measured for the same candidate. `usage` is what the
    proposal cost (tokens, money), as the proposer reported it; `spending` sums that and the seconds
    that the node was judged, its branches and its profile included. `confirmed` is what a finalist
    came to when it was measured again, which may be a failure. `branches` are the candidates of
    the same proposal that were evaluated and lost, and a node is `restarted` that was such a branch
    and became a node of its own later. `attributions` say what each method is worth,
    where that was asked.
    """

    id: int
    parent: int | None
    kind: NodeKind
    candidate: Candidate | None
    evaluation: Evaluation | None
    guidance: Guidance | None
    reward: float
    prior: float
    visits: int
    value: float
    reason: str = ""
    duplicate_of: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    confirmed: Evaluation | None = None
    spending: Spending = field(default=NOTHING, compare=False)
    branches: tuple[str, ...] = ()
    restarted: bool = False
    attributions: tuple[Attribution, ...] = ()

    @property
    def speedup(self) -> float | None:
        """As the search saw it; what may be reported is `verdict.speedup`."""
        return self.evaluation.speedup if self.evaluation else None

    @property
    def roofline(self) -> Roofline | None:
        """As the advisor placed it, else as the profile did; None if no tool looked."""
        if self.guidance is not None and self.guidance.roofline is not None:
            return self.guidance.roofline
        profile = self.evaluation.profile if self.evaluation else None
        return profile.roofline if profile is not None else None

    @property
    def verdict(self) -> Evaluation | None:
        """The evaluation that counts: the confirmation where there is one, else the search's."""
        return self.confirmed or self.evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A run's tree and totals. `nodes` are in the order of their ids; the first is the baseline.

    evaluations: trials told, restarts not counted. unique: distinct candidates evaluated, branches
    and failures included, the baseline not. failed: trials without a result. unrecorded: proposals
    that a replay's recording does not hold, which are no trials. seconds: wall clock over all
    sessions. confirmed: by candidate, what the finalists came to when they were measured
    again. own_times: whether an unsteady baseline has them compared by their own times.
    spending: all that the journal knows of, abandoned and unfinished trials, finalists and
    attributions included. stages: seconds by what was done in them (`mcts.journal.stages`), of all
    trials together: several at a time have more than the wall clock.
    """

    nodes: tuple[NodeRecord, ...]
    stop_reason: str
    evaluations: int
    unique: int
    failed: int
    seconds: float
    tree_digest: str
    objective: Objective = "time"
    own_times: bool = False
    confirmed: Mapping[str, Evaluation] = field(default_factory=dict)
    spending: Spending = NOTHING
    unrecorded: int = 0
    stages: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def baseline(self) -> NodeRecord:
        return self.nodes[0]

    @property
    def ranking(self) -> Ranking:
        """How candidates of this run are compared."""
        baseline = self.baseline.evaluation
        if baseline is None:
            return Ranking(objective=self.objective)
        return Ranking.calibrate(baseline, self.objective, own_times=self.own_times)

    @property
    def best(self) -> NodeRecord:
        """The node to hand back, by the objective, the earliest among equals.

        Where finalists were measured again, only they and the baseline are asked, and by those
        measurements.
        """
        found = {node.id: node.evaluation for node in self.nodes if node.evaluation}
        if 0 not in found or not found[0].measured:
            return self.baseline
        best = self.ranking.best(standing(found, self.confirmed)) or 0
        return next(node for node in self.nodes if node.id == best)

    def path_to(self, node: NodeRecord) -> tuple[NodeRecord, ...]:
        """From the baseline down to `node`."""
        by_id = {record.id: record for record in self.nodes}
        path = [node]
        while path[-1].parent is not None:
            path.append(by_id[path[-1].parent])
        return tuple(reversed(path))


def read_result(events: Iterable[Event]) -> Result:
    """Rebuild a run from its events.

    Raises JournalError when they do not describe a run, or not even its baseline.
    """
    reader = EventReader()
    try:
        for event in events:
            reader.take(event)
        tree = _tree_of(reader.told)
        nodes = tuple(_record_of(tree, reader, id) for id in sorted(tree.nodes))
        digest = _digest(tree, reader.told)
    except DAMAGES as error:
        raise JournalError(f"the run's journal is damaged: {error}") from error
    trials = nodes[1:]
    return Result(
        nodes=nodes,
        stop_reason=reader.stop_reason,
        evaluations=sum(not node.restarted for node in trials),
        unique=_unique(nodes),
        failed=sum(node.speedup is None for node in trials),
        seconds=reader.seconds,
        tree_digest=digest,
        objective=reader.objective,
        own_times=reader.own_times,
        confirmed=reader.confirmed,
        spending=reader.spending,
        unrecorded=reader.unrecorded,
        stages=dict(reader.stages),
    )


def _unique(nodes: tuple[NodeRecord, ...]) -> int:
    judged = {node.evaluation.candidate_id for node in nodes if node.evaluation}
    judged.update(*(node.branches for node in nodes))
    return max(0, len(judged) - 1)


def outcome_of(told: Mapping[str, Any]) -> Outcome:
    """The outcome a `told` event carried to the search."""
    kind: OutcomeKind = told["outcome"]
    return Outcome(kind, reward=told["reward"], prior=told["prior"], expandable=told["expandable"])


def _tree_of(told: Mapping[int, Mapping[str, Any]]) -> Tree:
    if 0 not in told:
        raise JournalError("the run has not measured its baseline yet; nothing to show")
    _check_told(told)
    tree = Tree()
    settle(tree.root, outcome_of(told[0]))
    for id in sorted(told.keys() - {0}):
        settle(tree.attach(id, told[id]["parent"]), outcome_of(told[id]))
    return tree


_TEXTS = {"kind": str, "candidate_id": str | None, "reason": str}


def _check_told(told: Mapping[int, Mapping[str, Any]]) -> None:
    """Raise ValueError for a node that names no other one where it should, or no text."""
    if told[0]["parent"] is not None:
        raise ValueError("the baseline has a parent")
    for id, payload in told.items():
        if not isinstance(id, int):
            raise ValueError(f"a trial's number is {id!r:.40}")
        others = {"parent": id != 0, "duplicate_of": False}
        for name, needed in others.items():
            other = payload[name]
            known = isinstance(other, int) and not isinstance(other, bool) and other in told
            if not known and (needed or other is not None):
                raise ValueError(f"trial {id}: its {name} is {other!r:.40}")
        for name, wanted in _TEXTS.items():
            if not isinstance(payload[name], wanted):
                raise ValueError(f"trial {id}: its {name} is {payload[name]!r:.40}")


def _record_of(tree: Tree, reader: EventReader, id: int) -> NodeRecord:
    node, told = tree.nodes[id], reader.told[id]
    candidate_id = told["candidate_id"]
    return NodeRecord(
        id=id,
        parent=told["parent"],
        kind=told["kind"],
        candidate=reader.candidate(id, candidate_id),
        evaluation=reader.evaluation(candidate_id),
        guidance=reader.guidance.get(id),
        reward=told["reward"],
        prior=told["prior"],
        visits=node.visits,
        value=node.value_sum / (node.visits * FIXED_POINT),
        reason=told["reason"],
        duplicate_of=told["duplicate_of"],
        usage=reader.usage.get(id, {}),
        confirmed=reader.confirmed.get(candidate_id or ""),
        spending=reader.spending_of(id, candidate_id, twin=told["duplicate_of"] is not None),
        branches=reader.branches.get(id, ()),
        restarted=id in reader.restarted,
        attributions=tuple(reader.attributions.get(id, ())),
    )


def _digest(tree: Tree, told: Mapping[int, Mapping[str, Any]]) -> str:
    """Hash of the tree's shape, candidates, outcomes and sums; equal digest, equal search."""
    rows = [
        [
            id,
            told[id]["parent"],
            told[id]["kind"],
            told[id]["candidate_id"],
            node.visits,
            node.value_sum,
            node.best,
        ]
        for id, node in sorted(tree.nodes.items())
    ]
    return tagged_hash("tree", rows, digits=32)
