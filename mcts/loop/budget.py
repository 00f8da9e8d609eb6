"""The budget of a run, and the guard that adds up what is spent of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from mcts.errors import InputError, NoMoves, NotRecorded, ProposalRejected, WorldError
from mcts.journal.pricing import Pricing
from mcts.journal.runlog import RunLog
from mcts.journal.spending import NOTHING, Spending, money, seconds_of, spent_on_reply
from mcts.loop.branches import candidates_of
from mcts.loop.world import Answer
from mcts.options import Limits
from mcts.ports import Proposer


class Budget(Limits):
    """The limits of a run, compared with what it has spent."""

    @classmethod
    def of(cls, limits: Limits) -> Budget:
        """The same limits as a budget."""
        return cls(**limits.model_dump())

    def exhausted(self, spending: Spending) -> str | None:
        """Returns the cap that the spending has reached, in words; None if it has reached none."""
        if self.cost_usd is not None and spending.cost >= (money(self.cost_usd) or 0):
            return "money spent"
        if self.tokens is not None and spending.tokens >= self.tokens:
            return "tokens spent"
        if self.gpu_minutes is not None and spending.gpu_s >= self.gpu_minutes * 60:
            return "GPU time spent"
        return None

    def check_kept(self, spending: Spending, model: str) -> None:
        """Raise InputError if a cap cannot be kept because a reply's cost is not known."""
        if self.cost_usd is not None and spending.unpriced:
            raise InputError(
                f"the cap of {self.cost_usd:g} USD cannot be kept: the cost of a reply of {model} "
                f"is not known; give its price: --price {model}=IN,OUT"
            )
        if self.tokens is not None and spending.uncounted:
            raise InputError(
                f"the cap of {self.tokens} tokens cannot be kept: {model} did not say how many a "
                "reply took; cap --evaluations or --max-minutes instead"
            )


Judging = Literal["measured", "profiled"]


class BudgetGuard:
    """Adds up what the trials cost, in the order they are told, and says when a cap is reached.

    All amounts come from the journal, so that a resumed run goes on with the sums that it had and
    repeats every decision. What earlier sessions spent outside of trials (finalists, attribution)
    counts against new trials, once `open` was called.
    """

    def __init__(self, budget: Budget, *, proposer: Proposer, log: RunLog) -> None:
        self.budget = budget
        self.total = NOTHING
        self._log, self._pricing = log, Pricing(log, proposer.price)
        self._counted: set[tuple[Judging, str]] = set()
        self._outside_trials = NOTHING

    def open(self) -> None:
        """Price what earlier sessions could not, and count what they spent outside of trials.

        Raises InputError if a cap cannot be kept because of that.
        """
        self._pricing.settle()
        self._outside_trials = _measured_outside_trials(self._log)
        for usage in self._pricing.usages(["removed"]):
            self._outside_trials += self._checked(usage)

    def pay(self, trial: int, answer: Answer) -> None:
        """Count what a trial has cost, even if it failed.

        Raises InputError if a cap can no longer be kept.
        """
        if answer.proposal is not None:
            self._pay_reply(trial, answer.proposal.usage)
            self.pay_judging("measured", [*answer.judged, *candidates_of(answer.proposal)])
        if isinstance(answer.error, NoMoves | ProposalRejected | NotRecorded | WorldError):
            self._pay_reply(trial, answer.error.usage)
        self._pay_seconds(seconds_of(self._log.find("broken", trial) or {}))

    def _pay_reply(self, trial: int, usage: Mapping[str, Any]) -> None:
        usage = self._pricing.priced(trial, usage)
        self.total += spent_on_reply(usage)
        self._checked(usage)

    def _checked(self, usage: Mapping[str, Any]) -> Spending:
        """What a reply cost. InputError if a cap cannot be kept because that is not known."""
        spent = spent_on_reply(usage)
        self.budget.check_kept(spent, self._pricing.model_of(usage))
        return spent

    def pay_judging(self, kind: Judging, candidate_ids: Iterable[str]) -> None:
        """Count the measurements or profiles of these candidates, each once."""
        for id in candidate_ids:
            found = self._log.find(kind, id)
            if found is None or (kind, id) in self._counted:
                continue
            self._counted.add((kind, id))
            if not _is_outside_trials(kind, found):
                self._pay_seconds(seconds_of(found))

    def _pay_seconds(self, seconds: float) -> None:
        self.total += Spending(gpu_s=seconds)

    def exhausted(self, *, repeating: bool) -> str | None:
        """Returns the cap that is reached, in words; None if none is.

        `repeating`: the next trial is in the journal already.
        """
        spent = self.total if repeating else self.total + self._outside_trials
        return self.budget.exhausted(spent)


def _is_outside_trials(kind: str, payload: Mapping[str, Any]) -> bool:
    """Whether an attribution, not a trial, asked for a measurement."""
    return kind == "measured" and payload.get("trial") is None


def _measured_outside_trials(log: RunLog) -> Spending:
    """What attributions and confirmations took."""
    total = NOTHING
    for payload in log.payloads("measured"):
        if _is_outside_trials("measured", payload):
            total += Spending(gpu_s=seconds_of(payload))
    for payload in log.payloads("confirmed"):
        total += Spending(gpu_s=seconds_of(payload))
    return total
