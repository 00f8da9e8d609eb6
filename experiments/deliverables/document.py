"""A whole run as one JSON document with a schema: what `run.json` holds.

The nouns here are the schema: `schema()` is made from them, and a document is one of them. Times
are in microseconds, energy in millijoules per call, money in US dollars; null is what is not known.

Version 2 holds every source once, in `sources`: most variants differ in their tunables alone.
Version 1 repeated it in every candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from pydantic import Field

from experiments.deliverables.best import Delivery
from experiments.deliverables.config_document import ConfigDocument
from mcts.domain import (
    Attribution,
    Candidate,
    Evaluation,
    Guidance,
    KernelTask,
    Noun,
    Scalar,
    tagged_hash,
)
from mcts.journal.record import NodeKind, NodeRecord
from mcts.journal.summary import Spent, Totals
from mcts.options.search import Objective

FORMAT: Final = "rooftree.run"
"""The `format` of a run's document in every version."""


class SpentDocument(Spent):
    """What was spent. `gpu_s`: seconds of judging, null for a replay; `unpriced` and `uncounted`
    say of how many of the `replies` cost and tokens are not in the sums.
    """


class CandidateDocument(Noun):
    """A candidate: `source` names its text in the document's `sources`, null where it has none.

    The `id` covers what runs (source and tunables), not what its author claims of it.
    """

    id: str
    source: str | None
    tunables: dict[str, Scalar]
    methods: tuple[str, ...]
    rationale: str
    name: str = ""

    @classmethod
    def of(cls, candidate: Candidate) -> CandidateDocument:
        return cls(
            id=candidate.id,
            source=source_name(candidate.source),
            tunables=candidate.tunables,
            methods=candidate.methods,
            rationale=candidate.rationale,
            name=candidate.name,
        )


def source_name(source: str) -> str | None:
    """What a source is called in `sources`: the same text, the same name."""
    return tagged_hash("source", source) if source else None


class BranchDocument(Noun):
    """A candidate of the same proposal that lost to the node, with its evaluation if it had one."""

    candidate: CandidateDocument
    evaluation: Evaluation | None


class NodeDocument(Noun):
    """One node of the tree. The first, number 0 and without a parent, is the baseline.

    kind: `measured`; `failed`, its evaluation says how; `rejected`, there was no candidate to
    evaluate, `reason` says why; `duplicate` of the node `duplicate_of`.
    evaluation: as the search saw it. confirmed: a finalist measured once more; it counts.
    value: mean reward of the subtree; reward: the node's own; prior, visits: as the search has it.
    guidance: what the tools said of its profile. usage: what its proposer reported of the reply.
    restarted: it was a branch of an earlier proposal. on_best_path: it leads to the best.
    """

    id: int = Field(ge=0)
    parent: int | None
    kind: NodeKind
    on_best_path: bool
    candidate: CandidateDocument | None
    evaluation: Evaluation | None
    confirmed: Evaluation | None
    guidance: Guidance | None
    attributions: tuple[Attribution, ...]
    branches: tuple[BranchDocument, ...]
    reward: float
    prior: float
    visits: int
    value: float
    reason: str
    duplicate_of: int | None
    restarted: bool
    usage: dict[str, Any]
    spent: SpentDocument


class TotalsDocument(Totals):
    """The run's sums. `evaluations` are trials told, `unique` distinct candidates evaluated,
    `failed` trials without a result, `seconds` of wall clock over all sessions. `stages_s` are
    seconds by what was done in them, of all trials together, which may be several at a time.
    """

    spent: SpentDocument


class RunDocument(Noun):
    """A whole run: what was asked, by whom it was answered, and every node of the tree.

    best: the node to hand back. hardware: what measured the run; it says so where that was a
    recording. sources: by the names that candidates use.
    """

    format: Literal["rooftree.run"] = FORMAT
    version: Literal[2] = 2
    task: KernelTask
    hardware: str
    evaluator: str
    proposer: str
    seed: int
    objective: Objective
    config: ConfigDocument
    totals: TotalsDocument
    best: int
    sources: dict[str, str]
    nodes: tuple[NodeDocument, ...]


def run_document(delivery: Delivery) -> RunDocument:
    """The document of a run, also of one that is going on."""
    result, facts = delivery.result, delivery.facts
    path = {node.id for node in result.path_to(result.best)}
    return RunDocument(
        task=delivery.task,
        hardware=facts.hardware,
        evaluator=facts.evaluator,
        proposer=facts.proposer,
        seed=facts.seed,
        objective=result.objective,
        config=ConfigDocument.of(delivery.config),
        totals=TotalsDocument.model_validate(delivery.summary.totals.model_dump()),
        best=result.best.id,
        sources=_sources(delivery),
        nodes=tuple(_node(delivery, node, node.id in path) for node in result.nodes),
    )


def _sources(delivery: Delivery) -> dict[str, str]:
    """Every source of the run by its name."""
    sources = (candidate.source for candidate in _candidates(delivery))
    return {name: source for source in sources if (name := source_name(source)) is not None}


def _candidates(delivery: Delivery) -> Iterator[Candidate]:
    for node in delivery.result.nodes:
        if node.candidate is not None:
            yield node.candidate
        for branch in delivery.facts.branches.get(node.id, ()):
            yield branch.candidate


def _node(delivery: Delivery, node: NodeRecord, on_best_path: bool) -> NodeDocument:
    tried = delivery.facts.branches.get(node.id, ())
    return NodeDocument(
        id=node.id,
        parent=node.parent,
        kind=node.kind,
        on_best_path=on_best_path,
        candidate=CandidateDocument.of(node.candidate) if node.candidate else None,
        evaluation=node.evaluation,
        confirmed=node.confirmed,
        guidance=node.guidance,
        attributions=node.attributions,
        branches=tuple(
            BranchDocument(candidate=CandidateDocument.of(one.candidate), evaluation=one.evaluation)
            for one in tried
        ),
        reward=node.reward,
        prior=node.prior,
        visits=node.visits,
        value=node.value,
        reason=node.reason,
        duplicate_of=node.duplicate_of,
        restarted=node.restarted,
        usage=dict(node.usage),
        spent=SpentDocument.of(node.spending, replayed=delivery.facts.replayed),
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of `run.json` (draft 2020-12)."""
    found = RunDocument.model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:rooftree.run:2",
        **found,
    }
