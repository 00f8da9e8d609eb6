"""What lies outside the search, behind the journal: proposals, their evaluation and guidance.

What the journal holds is taken from there. Otherwise the intent is written before the question, and
the answer after it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from mcts.journal.runlog import RunLog, reading_event
from mcts.loop.bench import Bench
from mcts.loop.branches import Branch, candidates_of, select
from mcts.ports import Advisor, Attempt, Proposal, ProposalRequest, Proposer
from mcts.search.seeding import seed_from
from mcts.search.trial import Trial

_ANSWERS = ("proposed", "abandoned", "rejected", "no_moves", "unrecorded")
"""Events that say what came of asking for a proposal."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a trial: a proposal with its evaluation, or the error that ended it.

    Of several branches the proposal's `candidate` is the one that became the node; `losers` are
    the others that were measured, `judged` the ids of all that were evaluated. `seconds` is how
    long the proposer took if the world failed it just now, otherwise 0.
    """

    proposal: Proposal | None = None
    evaluation: Evaluation | None = None
    error: NoMoves | ProposalRejected | NotRecorded | WorldError | None = None
    losers: tuple[Branch, ...] = ()
    judged: tuple[str, ...] = ()
    seconds: float = 0.0


class World:
    """Proposer, evaluator (as `bench`) and advisor behind the journal.

    Thread-safe, except for `advise`.
    """

    def __init__(
        self, *, task: KernelTask, proposer: Proposer, bench: Bench, advisor: Advisor, log: RunLog
    ) -> None:
        self.task, self.proposer, self.bench, self.advisor = task, proposer, bench, advisor
        self._log = log

    def propose(self, trial: int, request: ProposalRequest) -> Answer:
        """Ask for a proposal; the answer holds it, or the error that says why there is none.

        Raises InputError if the user must mend something first. If replies were paid for by then,
        the trial is abandoned with their cost: a resumed run asks for another trial.
        """
        if (known := self._proposal_in_journal(trial)) is not None:
            return known
        if not self.proposer.inline:
            self._log.write("proposing", {"trial": trial})
        begin = time.monotonic()
        try:
            proposal = self.proposer.propose(request)
        except NoMoves as error:
            payload = {"trial": trial, "usage": dict(error.usage)}
            self._log.write("no_moves", _timed(payload, begin))
            return Answer(error=error)
        except ProposalRejected as error:
            payload = {"trial": trial, "reason": str(error), "usage": dict(error.usage)}
            self._log.write("rejected", _timed(payload, begin))
            return Answer(error=error)
        except NotRecorded as error:
            payload = {"trial": trial, "reason": str(error), "usage": dict(error.usage)}
            self._log.write("unrecorded", _timed(payload, begin))
            return Answer(error=error)
        except JournalError:
            raise  # nothing can be written any more, so the run must stop
        except WorldError as error:
            return Answer(error=error, seconds=round(time.monotonic() - begin, 3))
        except InputError as error:
            if error.usage:
                payload = {"trial": trial, "reason": str(error), "usage": dict(error.usage)}
                self._log.write("abandoned", _timed(payload, begin))
            raise
        self._log.write("proposed", _timed(_payload_of(trial, proposal), begin))
        return Answer(proposal=proposal)

    def adopt(self, trial: int, proposal: Proposal) -> None:
        """Journal a proposal as the content of a trial."""
        self._log.write("proposed", _payload_of(trial, proposal))

    def knows(self, trial: int) -> bool:
        """Whether the journal holds what the proposer answered."""
        return any(self._log.find(kind, trial) for kind in _ANSWERS)

    def _proposal_in_journal(self, trial: int) -> Answer | None:
        proposal = None
        if found := self._log.find("proposed", trial):
            proposal = proposal_of(found)
        if abandoned := self._log.find("abandoned", trial):
            error = WorldError(abandoned["reason"], usage=abandoned.get("usage"))
            return Answer(proposal=proposal, error=error)
        if proposal is not None:
            return Answer(proposal=proposal)
        if found := self._log.find("rejected", trial):
            return Answer(error=ProposalRejected(found["reason"], usage=found["usage"]))
        if found := self._log.find("unrecorded", trial):
            return Answer(error=NotRecorded(found["reason"], usage=found.get("usage")))
        if found := self._log.find("no_moves", trial):
            return Answer(error=NoMoves(usage=found.get("usage")))
        return None

    def judge(self, trial: Trial, proposal: Proposal, best_speedup: float) -> Answer:
        """Evaluate a proposal and its branches; the answer holds the best of them.

        Behind the last one the proposer may name one more, again and again. If the proposal's own
        candidate fails, a branch that works stands in for it. If the world fails any of them, the
        trial has failed.
        """
        candidates = list(candidates_of(proposal).values())
        evaluations: dict[int, Evaluation] = {}
        not_recorded: NotRecorded | None = None
        for at, candidate in enumerate(candidates):
            try:
                evaluations[at] = self.bench.evaluate(trial.id, candidate, best_speedup)
            except JournalError:
                raise
            except NotRecorded as error:
                not_recorded = not_recorded or error
            except WorldError as error:
                return Answer(proposal=proposal, error=error)
            if at == len(candidates) - 1 and self.proposer.can_tune:
                judged = [
                    Attempt(
                        candidate=candidates[n],
                        evaluation=evaluations.get(n),
                        seconds=self.bench.seconds(candidates[n]),
                    )
                    for n in range(len(candidates))
                ]
                candidates += self._retuned(trial, judged, best_speedup)
        at = select(evaluations, self.bench.ranking) or 0
        losers = tuple(
            Branch(
                parent=trial.parent,
                candidate=candidates[n],
                evaluation=evaluation,
                prior=proposal.prior,
            )
            for n, evaluation in evaluations.items()
            if n != at and evaluation.measured
        )
        if len(candidates) > 1:
            by_id = {candidates[n].id: evaluation for n, evaluation in evaluations.items()}
            self._note_branches(trial.id, candidates[at].id, by_id)
        return Answer(
            proposal=replace(proposal, candidate=candidates[at], branches=()),
            evaluation=evaluations.get(at),
            error=not_recorded if at not in evaluations else None,
            losers=losers,
            judged=tuple(candidates[n].id for n in evaluations),
        )

    def _retuned(
        self, trial: Trial, judged: Sequence[Attempt], best_speedup: float
    ) -> tuple[Candidate, ...]:
        """One more candidate to time beside those `judged`, if the proposer names a new one."""
        key = f"{trial.id}/{len(judged)}"
        if found := self._log.find("tuned", key):
            with reading_event(f"the values {key}"):
                known = found["candidate"]
                return () if known is None else (Candidate.model_validate(known),)
        more = self.proposer.retuned(
            self.task,
            [self._as_compared(one) for one in judged],
            best_speedup=best_speedup,
            seed=seed_from(trial.seed, "tune", key),
        )
        if more is not None and more.id in {one.candidate.id for one in judged if one.candidate}:
            more = None
        content = None if more is None else more.model_dump(mode="json")
        self._log.write("tuned", {"key": key, "trial": trial.id, "candidate": content})
        return () if more is None else (more,)

    def _as_compared(self, attempt: Attempt) -> Attempt:
        if attempt.evaluation is None:
            return attempt
        return replace(attempt, evaluation=self.bench.ranking.as_compared(attempt.evaluation))

    def _note_branches(self, trial: int, winner: str, evaluated: Mapping[str, Evaluation]) -> None:
        """Journal which branch became the node, which others were measured, and which failed."""
        others = {id: evaluation for id, evaluation in evaluated.items() if id != winner}
        payload = {
            "trial": trial,
            "winner": winner,
            "losers": [id for id, evaluation in others.items() if evaluation.measured],
            "failed": [id for id, evaluation in others.items() if not evaluation.measured],
        }
        self._log.confirm("branched", payload)

    def propose_and_judge(
        self, trial: Trial, request: ProposalRequest, best_speedup: float
    ) -> Answer:
        """Ask for a proposal and evaluate it."""
        answer = self.propose(trial.id, request)
        if answer.proposal is None or answer.error is not None:
            return answer
        return self.judge(trial, answer.proposal, best_speedup)

    def advise(self, node: int, evaluation: Evaluation) -> Guidance:
        """Guidance for a node; `evaluation` holds its profile if there is one."""
        guidance = self.advisor.advise(self.task, evaluation)
        self._log.write("advised", {"node": node, "guidance": guidance.model_dump(mode="json")})
        return guidance


def _timed(payload: Mapping[str, Any], begin: float) -> dict[str, Any]:
    """The payload with the seconds that the proposer took."""
    return {**payload, "seconds": round(time.monotonic() - begin, 3)}


def _payload_of(trial: int, proposal: Proposal) -> dict[str, Any]:
    """The payload of a `proposed` event; `proposal_of` reads it."""
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
    with reading_event(f"the proposal of trial {payload.get('trial')}"):
        return Proposal(
            candidate=Candidate.model_validate(payload["candidate"]),
            branches=tuple(map(Candidate.model_validate, payload.get("branches", ()))),
            prior=payload["prior"],
            usage=payload["usage"],
        )
