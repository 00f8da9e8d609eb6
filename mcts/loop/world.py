"""Everything outside the search, asked once: proposals, their branches and advice, by journal.

Each answer is looked for in the journal first; where it is not there, the intent is written
before the question and the answer after it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcts.domain import Candidate, Evaluation, Guidance, KernelTask
from mcts.errors import (
    InputError,
    JournalError,
    NoMoves,
    NotRecorded,
    ProposalRejected,
    WorldError,
)
from mcts.journal.runlog import RunLog
from mcts.loop.bench import Bench
from mcts.loop.branches import Branch, candidates_of, select
from mcts.ports import Advisor, Proposal, ProposalRequest, Proposer
from mcts.search.trial import Trial


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a trial: a proposal with its evaluation, or the error that ended it.

    Of several branches the proposal's `candidate` is the one that became the node; `losers` are
    the others that were measured, `judged` the ids of all that were evaluated. `seconds` is what
    asking for a proposal took that the world failed just now.
    """

    proposal: Proposal | None = None
    evaluation: Evaluation | None = None
    error: NoMoves | ProposalRejected | NotRecorded | WorldError | None = None
    losers: tuple[Branch, ...] = ()
    judged: tuple[str, ...] = ()
    seconds: float = 0.0


class World:
    """Proposer, evaluator (as `bench`) and advisor behind the journal. Thread-safe but for
    `advise`.
    """

    def __init__(
        self, *, task: KernelTask, proposer: Proposer, bench: Bench, advisor: Advisor, log: RunLog
    ) -> None:
        self.task, self.proposer, self.bench, self.advisor = task, proposer, bench, advisor
        self._log = log

    def propose(self, trial: int, request: ProposalRequest) -> Answer:
        """A proposal, or why there is none.

        Raises InputError where the user must mend something first. Where it came after replies that
        were paid for, the trial is abandoned with their cost: resumed, the run asks another one.
        """
        if (told_before := self._proposal_in_journal(trial)) is not None:
            return told_before
        if not self.proposer.inline:
            self._log.write("proposing", {"trial": trial})
        begin = time.monotonic()
        try:
            proposal = self.proposer.propose(request)
        except NoMoves as error:
            said = {"trial": trial, "usage": dict(error.usage)}
            self._log.write("no_moves", self._timed(said, begin))
            return Answer(error=error)
        except ProposalRejected as error:
            said = {"trial": trial, "reason": str(error), "usage": dict(error.usage)}
            self._log.write("rejected", self._timed(said, begin))
            return Answer(error=error)
        except JournalError:
            raise  # nothing can be kept any more, so the run must stop here
        except WorldError as error:
            return Answer(error=error, seconds=round(time.monotonic() - begin, 3))
        except InputError as error:
            if error.usage:
                said = {"trial": trial, "reason": str(error), "usage": dict(error.usage)}
                self._log.write("abandoned", self._timed(said, begin))
            raise
        self._log.write("proposed", self._timed(_told(trial, proposal), begin))
        return Answer(proposal=proposal)

    def _timed(self, payload: Mapping[str, Any], begin: float) -> dict[str, Any]:
        """With the seconds that asking took, but of a proposer that answers at once."""
        if self.proposer.inline:
            return dict(payload)
        return {**payload, "seconds": round(time.monotonic() - begin, 3)}

    def adopt(self, trial: int, proposal: Proposal) -> None:
        """Journal a proposal as the content of a trial."""
        self._log.write("proposed", _told(trial, proposal))

    def _proposal_in_journal(self, trial: int) -> Answer | None:
        proposal = None
        if found := self._log.find("proposed", trial):
            proposal = proposal_of(found)
        if gone := self._log.find("abandoned", trial):
            error = WorldError(gone["reason"], usage=gone.get("usage"))
            return Answer(proposal=proposal, error=error)
        if proposal is not None:
            return Answer(proposal=proposal)
        if found := self._log.find("rejected", trial):
            return Answer(error=ProposalRejected(found["reason"], usage=found["usage"]))
        if found := self._log.find("no_moves", trial):
            return Answer(error=NoMoves(usage=found.get("usage")))
        return None

    def judge(self, trial: Trial, proposal: Proposal, best_speedup: float) -> Answer:
        """The proposal's evaluation, or why there is none; of its branches the best one's.

        Where the proposal's own candidate fails, a branch that works stands in for it. The world
        breaking for any of them breaks it for all.
        """
        candidates = list(candidates_of(proposal).values())
        found: dict[int, Evaluation] = {}
        refused: NotRecorded | None = None
        for at, candidate in enumerate(candidates):
            try:
                found[at] = self.bench.evaluate(trial.id, candidate, best_speedup)
            except JournalError:
                raise
            except NotRecorded as error:
                refused = refused or error
            except WorldError as error:
                return Answer(proposal=proposal, error=error)
        at = select(found, self.bench.ranking) or 0
        losers = tuple(
            Branch(
                parent=trial.parent,
                candidate=candidates[n],
                evaluation=evaluation,
                prior=proposal.prior,
            )
            for n, evaluation in found.items()
            if n != at and evaluation.measured
        )
        if len(candidates) > 1:
            evaluated = {candidates[n].id: evaluation for n, evaluation in found.items()}
            self._note_branches(trial.id, candidates[at].id, evaluated)
        return Answer(
            proposal=replace(proposal, candidate=candidates[at], branches=()),
            evaluation=found.get(at),
            error=refused if at not in found else None,
            losers=losers,
            judged=tuple(candidates[n].id for n in found),
        )

    def _note_branches(self, trial: int, winner: str, evaluated: Mapping[str, Evaluation]) -> None:
        """Journal which branch became the node, which were measured too, and which failed."""
        others = {id: found for id, found in evaluated.items() if id != winner}
        payload = {
            "trial": trial,
            "winner": winner,
            "losers": [id for id, found in others.items() if found.measured],
            "failed": [id for id, found in others.items() if not found.measured],
        }
        self._log.confirm("branched", payload)

    def propose_and_judge(
        self, trial: Trial, request: ProposalRequest, best_speedup: float
    ) -> Answer:
        answer = self.propose(trial.id, request)
        if answer.proposal is None or answer.error is not None:
            return answer
        return self.judge(trial, answer.proposal, best_speedup)

    def advise(self, node: int, evaluation: Evaluation) -> Guidance:
        """Guidance for a node, whose evaluation holds its profile where there is one."""
        guidance = self.advisor.advise(self.task, evaluation)
        self._log.write("advised", {"node": node, "guidance": guidance.model_dump(mode="json")})
        return guidance


def _told(trial: int, proposal: Proposal) -> dict[str, Any]:
    """What the journal says of a proposal; `proposal_of` reads it."""
    payload: dict[str, Any] = {
        "trial": trial,
        "candidate": proposal.candidate.model_dump(mode="json"),
        "prior": proposal.prior,
        "usage": dict(proposal.usage),
    }
    if proposal.branches:
        payload["branches"] = [branch.model_dump(mode="json") for branch in proposal.branches]
    return payload


def proposal_of(payload: Mapping[str, Any]) -> Proposal:
    """The proposal that a `proposed` event holds."""
    return Proposal(
        candidate=Candidate.model_validate(payload["candidate"]),
        branches=tuple(map(Candidate.model_validate, payload.get("branches", ()))),
        prior=payload["prior"],
        usage=payload["usage"],
    )
