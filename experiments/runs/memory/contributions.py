"""What a run contributes to the memory, read from its journal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcts.domain import Attribution, Guidance, KernelTask, Lesson, Profile, StateSignature
from mcts.journal.record import NodeRecord, Result
from mcts.knowledge.base import Knowledge
from mcts.knowledge.contribution import Contribution
from mcts.knowledge.moves import Act, acts_of
from mcts.knowledge.run_memory import compare
from mcts.knowledge.states import state_of
from mcts.loop.briefing import Signatures, realised
from mcts.ports import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The run that contributions come from. `knowledge` is what it began with, from which its
    predictions follow.

    `signatures` say by method whether machine code shows it.
    """

    run: str
    task: KernelTask
    gpu: str
    proposer: str
    knowledge: Knowledge
    signatures: Signatures


def first_implementations(result: Result, task: KernelTask) -> frozenset[int]:
    """The nodes that were written from the problem's own model, not from another variant.

    What they gain is that of leaving PyTorch, whatever methods they claim.
    """
    if not task.dialect_of(task.baseline.source).baseline_is_reference:
        return frozenset()
    return frozenset(node.id for node in result.nodes if node.parent == result.baseline.id)


def contributions_of(
    result: Result, events: Iterable[Event], origin: Origin
) -> Iterator[Contribution]:
    """One contribution for each act by which a node differs from its parent.

    Repairs, duplicates and first implementations contribute nothing. A method that was attributed
    on its own contributes its own gain, any other that of all acts together, which then share it.
    """
    noise = result.ranking.noise
    profiles, by_id = _profiles(events), {node.id: node for node in result.nodes}
    first = first_implementations(result, origin.task)
    for node in result.nodes:
        parent = by_id.get(node.parent) if node.parent is not None else None
        if parent is not None and node.kind != "duplicate" and node.id not in first:
            yield from _of_node(parent, node, origin, profiles=profiles, noise=noise)


def _profiles(events: Iterable[Event]) -> dict[str, Profile]:
    """Profiles by candidate."""
    return {
        event.payload["candidate_id"]: Profile.model_validate(event.payload["profile"])
        for event in events
        if event.kind == "profiled"
    }


def _of_node(
    parent: NodeRecord,
    node: NodeRecord,
    origin: Origin,
    *,
    profiles: Mapping[str, Profile],
    noise: float,
) -> Iterator[Contribution]:
    before, after = parent.evaluation, node.evaluation
    if parent.candidate is None or node.candidate is None or before is None or after is None:
        return
    if not before.measured:
        return
    seen_before = profiles.get(parent.candidate.id)
    state = state_of(parent.guidance, seen_before)
    acts = acts_of(parent.candidate, node.candidate, origin.task)
    profile = profiles.get(node.candidate.id)
    seen = realised(origin.signatures, profile) if profile is not None else {}
    outcome, gain = compare(before, after, noise=noise)
    attributed = {found.method: found for found in node.attributions}
    for act in acts:
        lesson = Lesson(
            state=state,
            method=act.method,
            outcome=outcome,
            gain=gain,
            realised=None if act.undone else seen.get(act.method),
            undone=act.undone,
            among=len(acts),
        )
        lesson = _own_lesson(lesson, attributed.get(act.method), noise=noise) or lesson
        yield Contribution(
            run=origin.run,
            node=node.id,
            task=origin.task.name,
            gpu=origin.gpu,
            proposer=origin.proposer,
            state=state,
            method=act.method,
            undone=act.undone,
            among=lesson.among,
            outcome=lesson.outcome,
            gain=lesson.gain,
            predicted=predicted(act, state, parent.guidance, origin.knowledge),
            realised=lesson.realised,
        )


def _own_lesson(lesson: Lesson, attributed: Attribution | None, *, noise: float) -> Lesson | None:
    """The lesson of a method that was applied and then attributed on its own."""
    if attributed is None or lesson.undone:
        return None
    if attributed.worth == "implementation_failed":
        return lesson.model_copy(update={"realised": False})
    return attributed.lesson(lesson.state, noise=noise)


def predicted(
    act: Act, state: StateSignature, guidance: Guidance | None, knowledge: Knowledge
) -> float | None:
    """The predicted gain: by what other runs had seen of this method, else by the strongest finding
    that points to it. Returns None if neither predicts one.
    """
    known = knowledge.expect(state).get(act) if knowledge else None
    if known is not None and known.evidence.count > 0:
        return math.exp(known.belief.mean)
    if act.undone or guidance is None:
        return None
    pointing = (found for found in guidance.findings if act.method in found.methods)
    return next((found.expected_gain for found in pointing if found.expected_gain), None)
