"""Toys that behave like a model: replies that cost, branches, refusals, a world that breaks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from mcts.attribution.attributor import Attributor
from mcts.domain import Attribution, Candidate, Evaluation
from mcts.errors import InputError, NoMoves, ProposalRejected, WorldError
from mcts.journal.record import Result
from mcts.loop.optimizer import Budget, Optimizer
from mcts.ports import Proposal, ProposalRequest
from mcts.testing.toy import (
    SPACE,
    VALUES,
    MemoryJournal,
    SilentAdvisor,
    ToyEvaluator,
    ToyProposer,
    toy_task,
)

CENTS = 0.0123
TOKENS = 130


def usage(cost: float | None = CENTS) -> dict[str, Any]:
    return {
        "model": "toy-1",
        "prompt_tokens": 100,
        "completion_tokens": TOKENS - 100,
        "cost_usd": cost,
    }


class PaidToy(ToyProposer):
    """A toy proposer whose replies cost `cost`, and which offers `branches` of each.

    `rejects`: every so many replies hold no candidate. `breaks`: every so many the service fails
    after a reply that was paid for. `mends`: the trials, by count, in which the user has something
    to mend after one. `knows`: the price it says on being asked, if any.
    """

    name = "paid"

    def __init__(
        self,
        *,
        inline: bool = False,
        cost: float | None = CENTS,
        branches: int = 0,
        rejects: int = 0,
        breaks: int = 0,
        mends: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(inline=inline)
        self.cost, self.branches, self.rejects, self.breaks = cost, branches, rejects, breaks
        self.mends = mends
        self.asked: list[ProposalRequest] = []

    def propose(self, request: ProposalRequest) -> Proposal:
        self.asked.append(request)
        if len(self.asked) in self.mends:
            raise InputError("the key is refused", usage=usage(self.cost))
        fate = random.Random(f"fate {request.seed}")
        if self.rejects and fate.randrange(self.rejects) == 0:
            raise ProposalRejected("the reply holds no code", usage=usage(self.cost))
        if self.breaks and fate.randrange(self.breaks) == 0:
            raise WorldError("the stream was cut off", usage=usage(self.cost))
        try:
            proposal = super().propose(request)
        except NoMoves:
            raise NoMoves("nothing left", usage=usage(self.cost)) from None
        return Proposal(
            candidate=proposal.candidate,
            branches=self._branches(proposal.candidate, request.seed),
            usage=usage(self.cost),
        )

    def _branches(self, candidate: Candidate, seed: int) -> tuple[Candidate, ...]:
        rng = random.Random(f"branches {seed}")
        return tuple(
            candidate.model_copy(
                update={"tunables": {**candidate.tunables, "UNROLL": rng.choice(VALUES)}}
            )
            for _ in range(self.branches)
        )


LATER = 0.01
"""What a reply of `TOKENS` costs by a price that becomes known later."""


class KnowsPrices:
    """Can say later what a reply of unknown cost was worth."""

    def price(self, usage: Mapping[str, Any]) -> float | None:
        return int(usage["prompt_tokens"]) * LATER / 100


class PricedToy(KnowsPrices, PaidToy):
    """One whose replies say no cost."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cost=None, **options)


class Rewriter(ToyProposer):
    """Takes a method out, at `cost`, by setting its tunable to 1; but for the one that `fails`."""

    can_ablate = True

    def __init__(self, *, fails: str = "", cost: float | None = CENTS) -> None:
        super().__init__(inline=False)
        self.fails, self.cost = fails, cost
        self.asked: list[str] = []
        self.requests: list[ProposalRequest] = []

    def without(self, request: ProposalRequest, method: str) -> Proposal:
        self.asked.append(method)
        self.requests.append(request)
        if method == self.fails:
            raise ProposalRejected("I would not know how", usage=usage(self.cost))
        name = method.removeprefix("toy.").upper()
        if request.parent.tunables[name] == 1:
            raise NoMoves("it is not there", usage=usage(self.cost))
        tunables = {**request.parent.tunables, name: 1}
        candidate = request.parent.model_copy(update={"tunables": tunables, "methods": ()})
        return Proposal(candidate=candidate, usage=usage(self.cost))


class Broken(Rewriter):
    """Its service fails, after a reply that was paid for, as often as `errors` has some."""

    def __init__(self, *errors: Exception, **options: Any) -> None:
        super().__init__(**options)
        self.errors = list(errors)

    def without(self, request: ProposalRequest, method: str) -> Proposal:
        if self.errors:
            raise self.errors.pop(0)
        return super().without(request, method)


class UnsteadyBaseline(ToyEvaluator):
    """Each variant is measured beside a baseline that takes another time; its own is steady."""

    def evaluate(self, candidate: Candidate) -> Evaluation:
        found = super().evaluate(candidate)
        if found.timing is None:
            return found
        timing, by = found.timing, random.Random(candidate.id).uniform(0.7, 1.4)
        update: dict[str, float] = {
            "baseline_us": by * timing.baseline_us,
            "speedup": by * timing.speedup,
            "speedup_low": 0.7 * by * timing.speedup,
            "speedup_high": 1.4 * by * timing.speedup,
        }
        if candidate.id == self.task.baseline.id:
            update |= {"low_us": 0.9 * timing.median_us, "high_us": 1.1 * timing.median_us}
        return found.model_copy(update={"timing": timing.model_copy(update=update)})


def optimizer(
    journal: MemoryJournal,
    proposer: ToyProposer | None = None,
    evaluator: ToyEvaluator | None = None,
    *,
    evaluations: int = 25,
    seed: int = 7,
    parallel: int = 1,
    caps: Mapping[str, Any] | None = None,
    **options: Any,
) -> Optimizer:
    return Optimizer(
        task=toy_task(),
        proposer=proposer or PaidToy(),
        evaluator=evaluator or ToyEvaluator(),
        advisor=SilentAdvisor(),
        journal=journal,
        budget=Budget(evaluations=evaluations, **(caps or {})),
        seed=seed,
        parallel=parallel,
        **options,
    )


def variant(**tunables: int) -> Candidate:
    return Candidate(tunables={**SPACE.default(), **tunables})


def attributor(journal: MemoryJournal, **options: Any) -> Attributor:
    options = {"evaluator": ToyEvaluator(), "ablator": Rewriter(), **options}
    return Attributor(task=toy_task(), journal=journal, **options)


def best_path(attributor: Attributor, result: Result) -> tuple[Attribution, ...]:
    """The methods of every node from the baseline to the best."""
    return attributor.nodes(result, result.path_to(result.best))
