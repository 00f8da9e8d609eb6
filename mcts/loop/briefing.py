"""What a proposer is told for a trial: guidance, lessons, and the outcomes of other trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mcts.domain import Candidate, Evaluation, Guidance, Profile, StateSignature
from mcts.knowledge.base import Knowledge
from mcts.knowledge.run_memory import RunMemory
from mcts.knowledge.states import state_of
from mcts.loop.ledger import Ledger
from mcts.loop.world import Answer, World
from mcts.ports import PendingTrial, ProposalRequest
from mcts.search.seeding import seed_from
from mcts.search.trial import Trial

Signature = Callable[[Profile], bool | None]
"""Returns whether a profile's machine code shows a method; None if that cannot be told."""
Signatures = Mapping[str, Signature]


class Briefing:
    """Writes requests from what the run knows, and learns from their outcomes.

    `signatures` tells by method whether machine code shows it, so that lessons about a profiled
    node say whether its methods were realised. `knowledge` is what other runs learned; it does not
    change, so that a trial's request depends on this run alone.
    """

    def __init__(
        self,
        *,
        world: World,
        ledger: Ledger,
        memory: RunMemory,
        signatures: Signatures,
        knowledge: Knowledge,
    ) -> None:
        self._world, self._ledger, self._memory = world, ledger, memory
        self._signatures, self._knowledge = signatures, knowledge

    def request(
        self, trial: Trial, *, pending: tuple[PendingTrial, ...], is_known: bool
    ) -> ProposalRequest:
        """All that the proposer may look at for this trial, beside the `pending` ones.

        A trial that `is_known` is answered by the journal: what would have to be copied for each
        is left out.
        """
        ledger, parent = self._ledger, self._ledger.candidates[trial.parent]
        guidance = self.guidance(trial.parent)
        state = self.state(trial.parent)
        siblings = tuple(ledger.children.get(trial.parent, ()))
        seen = [attempt.candidate.id for attempt in siblings if attempt.candidate]
        return ProposalRequest(
            task=self._world.task,
            parent=parent,
            evaluation=ledger.ranking.as_compared(self.evaluation(trial.parent)),
            guidance=guidance,
            lessons=self._memory.recall(state),
            experience=tuple(self._knowledge.expect(state).values()),
            move=trial.move,
            siblings=siblings,
            exemplars=ledger.exemplars.draw(
                seed=seed_from(trial.seed, "exemplars"), besides=[parent.id, *seen]
            ),
            profile=ledger.profiles.get(trial.parent),
            profile_before=ledger.profiles.get(ledger.parents.get(trial.parent, -1)),
            history=() if is_known else tuple(ledger.history.values()),
            pending=pending,
            tried=frozenset() if is_known else frozenset(ledger.tried),
            seed=trial.seed,
        )

    def guidance(self, node: int) -> Guidance:
        """Guidance for a node, made when it is first needed.

        Profiling takes seconds, which only variants that are built upon are worth.
        """
        if node not in self._ledger.guidance:
            self.advise(node, self._ledger.candidates[node], self.evaluation(node))
        return self._ledger.guidance[node]

    def advise(self, node: int, candidate: Candidate, evaluation: Evaluation) -> Guidance:
        """Profile a node if it was measured, ask the advisor, and keep the guidance."""
        if evaluation.measured:
            profile = self._world.bench.profile(candidate, evaluation)
            evaluation = evaluation.model_copy(update={"profile": profile})
            self._ledger.profiles[node] = profile
            self._memory.realise(candidate, realised(self._signatures, profile))
        guidance = self._world.advise(node, evaluation)
        self._ledger.guidance[node] = guidance
        return guidance

    def state(self, node: int) -> StateSignature:
        """The performance state of a node, as far as it was looked at."""
        return state_of(self._ledger.guidance.get(node), self._ledger.profiles.get(node))

    def evaluation(self, node: int) -> Evaluation:
        evaluation = self._ledger.evaluations[node]
        assert evaluation is not None, "a node without an evaluation is never expanded"
        return evaluation

    def learn(self, parent_id: int, answer: Answer) -> None:
        """Record a lesson for each method of the answer's candidate, if it is new to the run."""
        parent = self._ledger.evaluations[parent_id]
        if answer.proposal is None or answer.evaluation is None or parent is None:
            return
        if self._ledger.duplicated_by(answer) is None:
            self._memory.record(
                state=self.state(parent_id),
                parent=parent,
                origin=self._ledger.candidates[parent_id],
                task=self._world.task,
                candidate=answer.proposal.candidate,
                evaluation=answer.evaluation,
            )


def realised(signatures: Signatures, profile: Profile) -> dict[str, bool]:
    """Whether the machine code shows a method, for each method of which that can be told."""
    shown = {method: signature(profile) for method, signature in signatures.items()}
    return {method: seen for method, seen in shown.items() if seen is not None}
