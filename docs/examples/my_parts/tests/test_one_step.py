"""The proposer keeps the contract of proposers, and its own word."""

from __future__ import annotations

import pytest
from my_parts.one_step import OneStepProposer

from mcts.domain import Candidate, Guidance
from mcts.ports import ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.proposers import ProposerContract
from mcts.testing.toy import ToyEvaluator, toy_task

PARENT = Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4})
REQUEST = ProposalRequest(
    task=toy_task(),
    parent=PARENT,
    evaluation=ToyEvaluator().evaluate(PARENT),
    guidance=Guidance(),
    move=Move("improve", 0),
)


class TestOneStep(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return OneStepProposer()

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return REQUEST


def test_it_changes_one_tunable() -> None:
    changed = OneStepProposer().propose(REQUEST).candidate.tunables
    assert sum(PARENT.tunables[name] != value for name, value in changed.items()) == 1
