"""Attribution of a run by ablation: variants without one method, each written and measured once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from mcts.attribution.ablation import AblatedVariant, ablated_by_tunable, attribute, unattributed
from mcts.domain import Attribution, Candidate, Evaluation, Guidance, KernelTask
from mcts.domain.objective import Ranking
from mcts.errors import (
    InputError,
    JournalError,
    NoMoves,
    NotRecorded,
    ProposalRejected,
    WorldError,
)
from mcts.journal.pricing import Pricing
from mcts.journal.record import NodeRecord, Result
from mcts.journal.runlog import RunLog, reading_event
from mcts.journal.spending import NOTHING, Spending, seconds_of, spent_on_reply
from mcts.loop.bench import Bench
from mcts.loop.briefing import Signatures, realised
from mcts.loop.budget import Budget
from mcts.ports import Evaluator, Journal, ProposalRequest, Proposer
from mcts.search.seeding import seed_from
from mcts.search.trial import Move


class Attributor:
    """Measures what each method of a run's nodes is worth, by ablation.

    Works on the journal of a run that has ended, and continues where it stopped: no variant
    is written or measured twice. `ablator` removes what no tunable can; `signatures` say by method
    whether machine code shows it. With `budget` nothing is begun once a cap is reached, the run's
    own spending included. Replies of unknown cost in the journal are priced first, if `ablator`
    knows prices; `settled` is what that has added to the run's sum.
    """

    def __init__(
        self,
        *,
        task: KernelTask,
        evaluator: Evaluator,
        journal: Journal,
        ablator: Proposer | None = None,
        signatures: Signatures | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.task, self.ablator, self.budget = task, ablator, budget
        self.signatures: Signatures = signatures or {}
        self._log = RunLog(journal)
        self._ranking = Ranking()
        self._bench = Bench(evaluator, log=self._log, ranking=self._ranking)
        self._pricing = Pricing(self._log, ablator.price if ablator else _unknown)
        self._spent: Spending = NOTHING
        self.settled: Spending = NOTHING

    def nodes(self, result: Result, nodes: Iterable[NodeRecord]) -> tuple[Attribution, ...]:
        """The methods of those of these nodes that were measured.

        Ends early if the budget is exhausted. Raises WorldError if the world fails; what was found
        by then is in the journal.
        """
        parents = {node.id: node.candidate for node in result.nodes}
        self._ranking = result.ranking
        settled = self._pricing.settle()
        self._spent = result.spending + settled
        self.settled += settled
        found: list[Attribution] = []
        for node in nodes:
            if node.parent is None or node.speedup is None:
                continue
            subject = _Node(node, parents[node.parent] or self.task.baseline)
            for method in subject.candidate.methods:
                attribution = self._of(subject, method)
                if attribution is None:
                    return tuple(found)
                found.append(attribution)
        return tuple(found)

    def _of(self, node: _Node, method: str) -> Attribution | None:
        """One method's worth; None if it is not known and the budget is spent."""
        key = f"{node.record.id}:{method}"
        if said := self._log.find("attributed", key):
            with reading_event(f"the attribution {key}"):
                return Attribution.model_validate(said["attribution"])
        if self.budget is not None and self.budget.exhausted(self._spent) is not None:
            return None
        attribution = self._attribute(node, method, key)
        if attribution.worth == "unknown" and attribution.without is None and self.ablator is None:
            return attribution  # not journalled: a later session with an ablator may find out
        body = attribution.model_dump(mode="json")
        payload = {"key": key, "node": node.record.id, "attribution": body}
        self._log.write("attributed", payload)
        return attribution

    def _attribute(self, node: _Node, method: str, key: str) -> Attribution:
        seen = self._realised(node).get(method)
        variant = ablated_by_tunable(self.task, node.candidate, node.parent, method)
        try:
            if variant is None:
                variant = self._ablated_by_rewriting(node, method, key)
            without = self._evaluation(variant.candidate)
        except (NoMoves, ProposalRejected) as error:
            note = f"it could not be taken out: {error or 'nobody knows how'}"
            return unattributed(method, node.candidate.id, note, seen=seen)
        except NotRecorded as error:
            return unattributed(method, node.candidate.id, str(error), seen=seen, variant=variant)
        return attribute(
            method,
            whole=self._ranking.as_compared(node.verdict),
            without=self._ranking.as_compared(without),
            variant=variant,
            seen=seen,
            noise=self._ranking.noise,
        )

    def _realised(self, node: _Node) -> dict[str, bool]:
        if not self.signatures:
            return {}
        known = self._log.find("profiled", node.candidate.id) is not None
        profile = self._bench.profile(node.candidate, node.evaluation)
        self._count_gpu_time("profiled", node.candidate.id, known=known)
        return realised(self.signatures, profile)

    def _evaluation(self, candidate: Candidate) -> Evaluation:
        known = self._log.find("measured", candidate.id) is not None
        evaluation = self._bench.evaluate(None, candidate)
        self._count_gpu_time("measured", candidate.id, known=known)
        return evaluation

    def _count_gpu_time(self, kind: str, candidate_id: str, *, known: bool) -> None:
        if not known:
            self._spent += Spending(gpu_s=seconds_of(self._log.find(kind, candidate_id) or {}))

    def _ablated_by_rewriting(self, node: _Node, method: str, key: str) -> AblatedVariant:
        """The code without the method, asked for once. Raises NoMoves or ProposalRejected.

        Raises WorldError or InputError if there was no answer; what earlier replies cost is in the
        journal, and the next session asks again.
        """
        key, said = self._last_attempt(key)
        if said is None:
            if self.ablator is None:
                raise NoMoves("no tunable switches it off alone, and nobody here rewrites code")
            said = self._ask(self.ablator, node, method, key)
        if said["candidate"] is None:
            raise ProposalRejected(said["reason"])
        with reading_event(f"the ablation {key}"):
            candidate = Candidate.model_validate(said["candidate"])
        if candidate.id == node.candidate.id:
            raise ProposalRejected("the code came back as it was")
        return AblatedVariant(candidate=candidate)

    def _last_attempt(self, key: str) -> tuple[str, Mapping[str, Any] | None]:
        """The key of the attempt that counts, and its answer if there is one. An attempt that was
        paid for and then failed by no fault of the variant keeps a key of its own."""
        tried, number = key, 1
        while (said := self._log.find("removed", tried)) is not None and said.get("failed"):
            number += 1
            tried = f"{key} try {number}"
        return tried, said

    def _ask(self, ablator: Proposer, node: _Node, method: str, key: str) -> Mapping[str, Any]:
        """Ask the ablator, and journal its answer with what it cost.

        Raises InputError if a cap cannot be kept, before anything is asked if it is known then.
        """
        self._check_caps()
        self._log.write("removing", {"key": key})
        begin = time.monotonic()
        answer: dict[str, Any] = {"candidate": None, "reason": "", "usage": {}}
        try:
            proposal = ablator.without(self._request(node, method), method)
        except (NoMoves, ProposalRejected) as error:
            answer |= {"reason": str(error), "usage": dict(error.usage)}
        except JournalError:
            raise
        except (InputError, WorldError) as error:
            if error.usage:
                answer |= {"reason": str(error), "usage": dict(error.usage), "failed": True}
                self._journal_reply(key, answer, begin)
            raise
        else:
            answer["candidate"] = proposal.candidate.model_dump(mode="json")
            answer["usage"] = dict(proposal.usage)
        self._journal_reply(key, answer, begin)
        self._check_caps()
        return answer

    def _journal_reply(self, key: str, answer: Mapping[str, Any], begin: float) -> None:
        """Write an answer down and count what it cost."""
        took = round(time.monotonic() - begin, 3)
        self._log.write("removed", {"key": key, **answer, "seconds": took})
        self._spent += spent_on_reply(self._pricing.priced(key, answer["usage"]))

    def _check_caps(self) -> None:
        if self.budget is not None:
            for usage in self._pricing.usages():
                self.budget.check_kept(spent_on_reply(usage), self._pricing.model_of(usage))

    def _request(self, node: _Node, method: str) -> ProposalRequest:
        return ProposalRequest(
            task=self.task,
            parent=node.candidate,
            evaluation=self._ranking.as_compared(node.evaluation),
            guidance=node.record.guidance or Guidance(),
            move=Move("improve", 0),
            profile=node.evaluation.profile,
            seed=seed_from(node.candidate.id, "without", method),
        )


class _Node:
    """A measured node with its parent's candidate; `verdict` is the evaluation that counts."""

    def __init__(self, record: NodeRecord, parent: Candidate) -> None:
        assert record.candidate is not None and record.evaluation is not None, "it was measured"
        self.record, self.parent = record, parent
        self.candidate, self.evaluation = record.candidate, record.evaluation
        confirmed = record.confirmed
        self.verdict = confirmed if confirmed and confirmed.measured else record.evaluation


def _unknown(usage: Mapping[str, Any]) -> None:
    """The price of a reply, if nobody can be asked."""
