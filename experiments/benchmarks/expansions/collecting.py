"""Recorded expansions out of run folders: what each run asked, got and measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from experiments.benchmarks.expansions.file import read_expansions
from experiments.benchmarks.expansions.tree import (
    ExpansionTree,
    Measurement,
    PromptFeedback,
    RecordedRun,
    Reply,
    Variant,
    merged,
)
from experiments.runs.folders import event_table
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, stored_rows
from experiments.runs.options.config import RunConfig
from mcts.domain import Candidate, Evaluation, Noun, Roofline, tagged_hash
from mcts.errors import InputError, JournalError
from mcts.journal.reading import EventReader
from mcts.journal.record import NodeRecord, Result, read_result
from mcts.journal.runlog import DAMAGES
from mcts.loop.branches import candidates_of
from mcts.loop.world import proposal_of
from mcts.ports import Event, Proposal
from mcts.text import one_line

_MOST_WORDS = 300
"""Characters that are kept of why a candidate failed."""
N = TypeVar("N", bound=Noun)


def collect(given: Sequence[Path]) -> tuple[ExpansionTree, ...]:
    """The trees of these run folders and files of expansions, those of one task as one.

    Raises InputError if one is neither, if a run is given twice, or if runs of a task cannot be
    compared; JournalError if a journal is damaged.
    """
    found: dict[str, ExpansionTree] = {}
    for path in given:
        trees = read_expansions(path) if path.is_file() else [tree_of_run(path)]
        for tree in trees:
            known = found.get(tree.task_id)
            try:
                found[tree.task_id] = tree if known is None else merged(known, tree)
            except ValueError as error:
                raise InputError(f"{path}: {error}") from None
    return tuple(found.values())


def tree_of_run(path: Path) -> ExpansionTree:
    """What one run recorded; the baseline's own text is left out.

    Trials that the world failed or that were not answered are no replies.
    """
    folder = RunFolder(path)
    config = folder.config
    rows = tuple(stored_rows(path))
    events = tuple(event_table.events(rows, path / DATABASE))
    result = read_result(events)
    try:
        return _tree(path, folder, config, events, result, begun=rows[0].at[:10])
    except DAMAGES as error:
        raise JournalError(f"the journal of {path} is damaged: {error}") from error


def _tree(
    path: Path,
    folder: RunFolder,
    config: RunConfig,
    events: Sequence[Event],
    result: Result,
    *,
    begun: str,
) -> ExpansionTree:
    started = next(event.payload for event in events if event.kind == "started")
    baseline = result.baseline.candidate
    timing = result.baseline.evaluation.timing if result.baseline.evaluation else None
    if baseline is None or timing is None:
        raise InputError(f"{path}: the baseline was not measured")
    run = config.run_id or tagged_hash("run", [begun, dict(started)])
    replies = tuple(_replies(events, result, run))
    return ExpansionTree(
        task=started["task"],
        task_id=started["task_id"],
        dialect=str(folder.task(config).task.dialect),
        hardware=started["hardware"],
        over=timing.baseline,
        root=baseline.id,
        runs={
            run: RecordedRun(
                name=path.resolve().name,
                begun=begun,
                rooftree=config.rooftree,
                search=config.search.algorithm.name,
                seed=started["seed"],
                parallel=started["parallel"],
                evaluator=started["evaluator"],
                proposer=started["proposer"],
                feedback=_feedback(config),
                replies=len(replies),
            )
        },
        variants=tuple(_variants(events, result, run, baseline)),
        replies=replies,
    )


def _feedback(config: RunConfig) -> PromptFeedback:
    """What prompts said of the profile; unknown if no prompt was written."""
    return config.model.feedback if config.model.name is not None else "unknown"


def _proposals(events: Iterable[Event]) -> dict[int, Proposal]:
    """By trial, with the values that were timed behind a proposal as further branches of it."""
    found: dict[int, Proposal] = {}
    for event in events:
        payload = event.payload
        if event.kind == "proposed":
            found[payload["trial"]] = proposal_of(payload)
        elif event.kind == "tuned" and payload["candidate"] is not None:
            proposal = found[payload["trial"]]
            more = Candidate.model_validate(payload["candidate"])
            found[payload["trial"]] = replace(proposal, branches=(*proposal.branches, more))
    return found


def _replies(events: Sequence[Event], result: Result, run: str) -> Iterable[Reply]:
    asked = {event.payload["trial"]: event.payload for event in events if event.kind == "asked"}
    proposals = _proposals(events)
    parents = {node.id: node.candidate for node in result.nodes}
    for node in result.nodes[1:]:
        parent = parents[node.parent] if node.parent is not None else None
        if node.restarted or parent is None:
            continue
        proposal = proposals.get(node.id)
        yield Reply(
            parent=parent.id,
            variants=tuple(candidates_of(proposal)) if proposal is not None else (),
            reason=one_line(node.reason, _MOST_WORDS) if node.evaluation is None else "",
            run=run,
            trial=node.id,
            prior=node.prior,
            **_move(asked[node.id]),
            **_cost(node),
        )


def _move(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"move": asked["kind"], "far": asked["far"], "ordinal": asked["ordinal"]}


def _cost(node: NodeRecord) -> dict[str, Any]:
    """The model that replied and what the reply cost, as far as the journal knows."""
    names = ("model", "prompt_tokens", "completion_tokens", "cost_usd")
    return {name: node.usage.get(name) for name in names}


def _variants(
    events: Sequence[Event], result: Result, run: str, baseline: Candidate
) -> Iterable[Variant]:
    """The baseline, then every candidate of a reply, in the order of the trials."""
    reader = EventReader()
    for event in events:
        reader.take(event)
    rooflines = _rooflines(result)
    told = {node.id for node in result.nodes}
    candidates: dict[str, Candidate] = {}
    for trial, proposal in sorted(_proposals(events).items()):
        if trial in told:
            for id, candidate in candidates_of(proposal).items():
                candidates.setdefault(id, candidate)
    for id, candidate in candidates.items():
        copied = bool(candidate.source) and candidate.source == baseline.source
        kept = {False: reader.evaluations.get(id), True: reader.confirmed.get(id)}
        yield Variant(
            id=id,
            candidate=candidate.model_copy(update={"source": ""}) if copied else candidate,
            from_baseline=copied,
            measurements=tuple(
                Measurement(run=run, confirmed=confirmed, evaluation=_trimmed(evaluation))
                for confirmed, evaluation in kept.items()
                if evaluation is not None
            ),
            roofline=rooflines.get(id),
        )


def _rooflines(result: Result) -> dict[str, Roofline]:
    """By candidate, without the sentence that says why."""
    found: dict[str, Roofline] = {}
    for node in result.nodes:
        roofline = node.guidance.roofline if node.guidance else None
        if node.candidate is not None and roofline is not None:
            found.setdefault(node.candidate.id, _with(roofline, reason=""))
    return found


def _trimmed(evaluation: Evaluation) -> Evaluation:
    """The verdict and the times, without samples, build, profile and sandbox."""
    verification = evaluation.verification
    return _with(
        evaluation,
        message=one_line(evaluation.message, _MOST_WORDS),
        verification=verification
        and _with(verification, detail=one_line(verification.detail, _MOST_WORDS)),
        timing=evaluation.timing and evaluation.timing.without_samples(),
        build=None,
        profile=None,
        isolation=None,
        notes=(),
    )


def _with(noun: N, **update: object) -> N:
    return noun.model_copy(update=update)
