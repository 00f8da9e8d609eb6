"""The toys of our own tests honour the contracts, so that tests built on them mean something."""

from __future__ import annotations

import pytest

from mcts.domain import Candidate
from mcts.ports import Evaluator, Journal
from tests.contracts.evaluator_contract import EvaluatorContract
from tests.contracts.journal_contract import JournalContract
from tests.mcts.finals import EnergyToy
from tests.support.toy import MemoryJournal, ToyEvaluator


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
