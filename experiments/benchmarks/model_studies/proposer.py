"""Proposers of arms: a model for the first trials alone, and one that is told of no other trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcts.ports import Proposal, ProposalRequest, Proposer


class FirstThen(Proposer):
    """Asks `first` while fewer than `count` candidates were judged besides the baseline, then
    `then`.

    What was judged is in the request's history, so that a resumed run asks the same one.
    """

    def __init__(self, first: Proposer, then: Proposer, *, count: int) -> None:
        self.name = f"{first.name} first {count}, then {then.name}"
        self._first, self._then, self._count = first, then, count

    def propose(self, request: ProposalRequest) -> Proposal:
        judged = len(request.history) - 1
        proposer = self._first if judged < self._count else self._then
        return proposer.propose(request)

    def price(self, usage: Mapping[str, Any]) -> float | None:
        return self._first.price(usage)

    def close(self) -> None:
        self._first.close()
        self._then.close()


class Alone(Proposer):
    """Another proposer, which sees of each request the parent alone: replies are samples of one
    question.
    """

    def __init__(self, proposer: Proposer) -> None:
        self.name = proposer.name
        self._proposer = proposer

    def propose(self, request: ProposalRequest) -> Proposal:
        return self._proposer.propose(
            replace(
                request,
                lessons=(),
                experience=(),
                siblings=(),
                exemplars=(),
                history=(),
                pending=(),
            )
        )

    def price(self, usage: Mapping[str, Any]) -> float | None:
        return self._proposer.price(usage)

    def close(self) -> None:
        self._proposer.close()
