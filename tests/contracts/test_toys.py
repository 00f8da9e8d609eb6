"""The toys of our own tests honour the contracts, so that tests built on them mean something."""

from __future__ import annotations

import pytest

from mcts.domain import Candidate, Guidance
from mcts.ports import Evaluator, Journal, ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.evaluators import EvaluatorContract
from mcts.testing.journals import JournalContract
from mcts.testing.proposers import ProposerContract
from mcts.testing.toy import MemoryJournal, ToyEvaluator, ToyProposer, toy_task
from tests.mcts.journal.paid import PricedToy
from tests.mcts.loop.finals import EnergyToy


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def journal(self) -> Journal:
        return MemoryJournal()


class TestToyEvaluator(EvaluatorContract):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return ToyEvaluator()

    @pytest.fixture
    def working(self) -> Candidate:
        return Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4})

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {"runtime_error": Candidate(tunables={"BLOCK": 32, "TILE": 32, "UNROLL": 32})}


class TestEnergyToy(TestToyEvaluator):
    """One that confirms and measures energy besides."""

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return EnergyToy()


class TestToyProposer(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return ToyProposer()

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        task = toy_task()
        return ProposalRequest(
            task=task,
            parent=task.baseline,
            evaluation=ToyEvaluator().evaluate(task.baseline),
            guidance=Guidance(),
            move=Move("improve", 0),
        )


class TestPricedToy(TestToyProposer):
    """One that is slow, costs, prices and branches."""

    @pytest.fixture
    def proposer(self) -> Proposer:
        return PricedToy(branches=3)
