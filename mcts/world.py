"""Everything outside the search, asked once: proposals, measurements and profiles by journal.

Each answer is looked for in the journal first; where it is not there, the intent is written
before the question and the answer after it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from mcts.domain import Candidate, Evaluation, Guidance, KernelTask, Profile
from mcts.errors import JournalError, NoMoves, NotRecorded, ProposalRejected, WorldError
from mcts.objective import Ranking
from mcts.ports import (
    Advisor,
    Confirmer,
    EnergyMeter,
    Evaluator,
    Proposal,
    ProposalRequest,
    Proposer,
)
from mcts.runlog import RunLog


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a trial: a proposal with its evaluation, or the error that ended it."""

    proposal: Proposal | None = None
    evaluation: Evaluation | None = None
    error: NoMoves | ProposalRejected | NotRecorded | WorldError | None = None


class World:
    """Proposer, evaluator and advisor behind the journal. Thread-safe but for `advise`.

    Energy is measured right behind the time, where `ranking` asks for it.
    """

    def __init__(
        self,
        *,
        task: KernelTask,
        proposer: Proposer,
        evaluator: Evaluator,
        advisor: Advisor,
        log: RunLog,
        ranking: Ranking,
    ) -> None:
        self.task, self.proposer, self.evaluator, self.advisor = task, proposer, evaluator, advisor
        self._log, self._ranking = log, ranking
        self._lock = threading.Lock()
        self._judged: dict[str, Future[Evaluation]] = {}

    def propose(self, trial: int, request: ProposalRequest) -> Answer:
        """A proposal, or why there is none."""
        if (told_before := self._proposal_in_journal(trial)) is not None:
            return told_before
        if not self.proposer.inline:
            self._log.write("proposing", {"trial": trial})
        try:
            proposal = self.proposer.propose(request)
        except NoMoves as error:
            self._log.write("no_moves", {"trial": trial})
            return Answer(error=error)
        except ProposalRejected as error:
            usage = dict(error.usage)
            self._log.write("rejected", {"trial": trial, "reason": str(error), "usage": usage})
            return Answer(error=error)
        except JournalError:
            raise  # nothing can be kept any more, so the run must stop here
        except WorldError as error:
            return Answer(error=error)
        self.adopt(trial, proposal)
        return Answer(proposal=proposal)

    def adopt(self, trial: int, proposal: Proposal) -> None:
        """Journal a proposal as the content of a trial."""
        payload = {
            "trial": trial,
            "candidate": proposal.candidate.model_dump(mode="json"),
            "prior": proposal.prior,
            "usage": dict(proposal.usage),
        }
        self._log.write("proposed", payload)

    def _proposal_in_journal(self, trial: int) -> Answer | None:
        if found := self._log.find("abandoned", trial):
            return Answer(error=WorldError(found["reason"]))
        if found := self._log.find("proposed", trial):
            candidate = Candidate.model_validate(found["candidate"])
            usage: Mapping[str, Any] = found["usage"]
            proposal = Proposal(candidate=candidate, prior=found["prior"], usage=usage)
            return Answer(proposal=proposal)
        if found := self._log.find("rejected", trial):
            return Answer(error=ProposalRejected(found["reason"], usage=found["usage"]))
        if self._log.find("no_moves", trial):
            return Answer(error=NoMoves())
        return None

    def judge(self, trial: int, proposal: Proposal, best_speedup: float) -> Answer:
        """The proposal's evaluation, or why there is none."""
        try:
            evaluation = self.evaluate(trial, proposal.candidate, best_speedup)
        except JournalError:
            raise
        except (NotRecorded, WorldError) as error:
            return Answer(proposal=proposal, error=error)
        return Answer(proposal=proposal, evaluation=evaluation)

    def propose_and_judge(
        self, trial: int, request: ProposalRequest, best_speedup: float
    ) -> Answer:
        answer = self.propose(trial, request)
        if answer.proposal is None:
            return answer
        return self.judge(trial, answer.proposal, best_speedup)

    def evaluate(self, trial: int, candidate: Candidate, best_speedup: float = 0.0) -> Evaluation:
        """Judge a candidate once, however many trials propose it, now or before a crash.

        `best_speedup` is the greatest known when the trial was asked for, not now: whether energy
        is measured must not depend on how long other trials took.
        """
        with self._lock:
            mine = candidate.id not in self._judged
            judged = self._judged.setdefault(candidate.id, Future())
        if not mine:
            return judged.result()
        try:
            evaluation = self._measure(trial, candidate, best_speedup)
        except BaseException as error:
            with self._lock:
                del self._judged[candidate.id]
            judged.set_exception(error)
            raise
        judged.set_result(evaluation)
        return evaluation

    def _measure(self, trial: int, candidate: Candidate, best_speedup: float) -> Evaluation:
        if found := self._log.find("measured", candidate.id):
            return Evaluation.model_validate(found["evaluation"])
        place = {"trial": trial, "candidate_id": candidate.id}
        self._log.write("measuring", place)
        evaluation = self.evaluator.evaluate(candidate)
        evaluation = self._with_energy(candidate, evaluation, best_speedup)
        self._log.write("measured", {**place, "evaluation": evaluation.model_dump(mode="json")})
        return evaluation

    def _with_energy(
        self, candidate: Candidate, evaluation: Evaluation, best_speedup: float
    ) -> Evaluation:
        wanted = self._ranking.wants_energy(evaluation, best_speedup=best_speedup)
        if not wanted or not isinstance(self.evaluator, EnergyMeter):
            return evaluation
        return self.evaluator.measure_energy(candidate, evaluation)

    @property
    def confirms(self) -> bool:
        """Whether the evaluator measures finalists again."""
        return isinstance(self.evaluator, Confirmer)

    def confirmation(self, candidate_id: str) -> Evaluation | None:
        """What the candidate came to when it was measured again, if it ever was."""
        found = self._log.find("confirmed", candidate_id)
        return Evaluation.model_validate(found["evaluation"]) if found else None

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Measure a finalist again, once, also over a crash."""
        if (known := self.confirmation(candidate.id)) is not None:
            return known
        assert isinstance(self.evaluator, Confirmer), "ask `confirms` first"
        self._log.write("confirming", {"candidate_id": candidate.id})
        confirmed = self.evaluator.confirm(candidate, evaluation)
        confirmed = self._with_energy(candidate, confirmed, 0.0)
        payload = {
            "candidate_id": candidate.id,
            "evaluation": confirmed.model_dump(mode="json"),
            "elapsed_s": round(self._log.elapsed_s, 3),
        }
        self._log.write("confirmed", payload)
        return confirmed

    def advise(self, node: int, candidate: Candidate, evaluation: Evaluation) -> Guidance:
        """Guidance for a node, profiled first where there is something to profile."""
        if evaluation.measured:
            profile = self._profile(candidate, evaluation)
            evaluation = evaluation.model_copy(update={"profile": profile})
        guidance = self.advisor.advise(self.task, evaluation)
        self._log.write("advised", {"node": node, "guidance": guidance.model_dump(mode="json")})
        return guidance

    def _profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        if found := self._log.find("profiled", candidate.id):
            return Profile.model_validate(found["profile"])
        self._log.write("profiling", {"candidate_id": candidate.id})
        try:
            profile = self.evaluator.profile(candidate, evaluation)
        except JournalError:
            raise
        except WorldError as error:
            profile = Profile(missing={"profile": str(error)})
        payload = {"candidate_id": candidate.id, "profile": profile.model_dump(mode="json")}
        self._log.write("profiled", payload)
        return profile
