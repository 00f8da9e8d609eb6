"""A recorded tree as the parts of a run: a proposer that draws replies, and their evaluator.

Candidates have the ids of what is kept of them: a variant whose code is the baseline's, which is
not kept, has another id than where it was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from experiments.benchmarks.expansions.tree import ExpansionTree, Reply, Variant
from mcts.domain import SPACE, Candidate, Evaluation, Hardware, KernelTask, Profile, Workload
from mcts.errors import NoMoves, NotRecorded
from mcts.ports import Evaluator, Proposal, ProposalRequest, Proposer
from mcts.search.seeding import seed_from

NAME = "recorded"
_MISSING = "a file of expansions keeps no counters"


class Replay:
    """What the parts share, made once for a tree. Read only, so that runs may share it.

    task: stands in for the recorded one, of which only the name is kept.
    """

    def __init__(self, tree: ExpansionTree) -> None:
        self.tree = tree
        self.task = KernelTask(
            name=tree.task,
            dialect=SPACE,
            baseline=tree.by_id[tree.root].candidate,
            workloads=(Workload(name=NAME, shape={}),),
        )

    @cached_property
    def proposals(self) -> Mapping[str, tuple[Proposal, ...]]:
        """The replies below each parent, by the candidate's id."""
        tree = self.tree
        return {
            tree.by_id[parent].candidate.id: tuple(self._proposal(reply) for reply in replies)
            for parent, replies in tree.children.items()
        }

    @cached_property
    def evaluations(self) -> Mapping[str, Evaluation]:
        """The evaluation that counts of each candidate that was evaluated."""
        return {
            variant.candidate.id: _as_searched(variant, variant.evaluation)
            for variant in self.tree.variants
            if variant.evaluation is not None
        }

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        return {
            variant.candidate.id: Profile(roofline=variant.roofline, missing={"kernels": _MISSING})
            for variant in self.tree.variants
        }

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Why a candidate has no evaluation."""
        found: dict[str, str] = {}
        for reply in self.tree.replies:
            if not reply.variants:
                found[_unusable(reply).id] = reply.reason
            elif reply.reason:
                found[self.tree.by_id[reply.variants[0]].candidate.id] = reply.reason
        return found

    def _proposal(self, reply: Reply) -> Proposal:
        if not reply.variants:
            return Proposal(candidate=_unusable(reply), prior=reply.prior)
        own, *branches = (self.tree.by_id[id].candidate for id in reply.variants)
        return Proposal(candidate=own, branches=tuple(branches), prior=reply.prior)


class RecordedProposer(Proposer):
    """Answers a request with a reply that was recorded below the parent.

    Each is as likely, whatever the move is; the trial's seed decides. A variant that was proposed
    in this run already is not drawn again, and a reply that held no usable candidate is drawn as a
    candidate that the evaluator does not know, so that it, too, is drawn once. Raises NoMoves if no
    reply is left.
    """

    name = NAME
    inline = True

    def __init__(self, replay: Replay) -> None:
        self._proposals = replay.proposals

    def propose(self, request: ProposalRequest) -> Proposal:
        recorded = self._proposals.get(request.parent.id, ())
        left = [one for one in recorded if one.candidate.id not in request.tried]
        if not left:
            raise NoMoves("no recorded reply is left below this parent")
        return left[seed_from(request.seed, "recorded reply") % len(left)]


class RecordedEvaluator(Evaluator):
    """Answers with what a variant first came to, and with where it stood under its roofline."""

    name = NAME

    def __init__(self, replay: Replay) -> None:
        self.task = replay.task
        self._replay = replay
        self._hardware = Hardware(name=replay.tree.hardware)

    @property
    def hardware(self) -> Hardware:
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """As recorded. Raises NotRecorded for what was not evaluated when it was recorded."""
        found = self._replay.evaluations.get(candidate.id)
        if found is None:
            why = self._replay.reasons.get(candidate.id, "")
            raise NotRecorded(why or f"the tree holds no measurement of {candidate.id}")
        return found

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return self._replay.profiles[candidate.id]

    def close(self) -> None:
        """Nothing is held."""


def _unusable(reply: Reply) -> Candidate:
    """Stands for a reply without a usable candidate; no other reply has the same."""
    return Candidate(tunables={"run": reply.run, "trial": reply.trial})


def _as_searched(variant: Variant, evaluation: Evaluation) -> Evaluation:
    """The evaluation under the id that the candidate has here; searches replay for time alone."""
    update = {"candidate_id": variant.candidate.id, "energy": None}
    return evaluation.model_copy(update=update)
