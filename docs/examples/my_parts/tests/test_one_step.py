"""The proposer keeps the contract of proposers, and its own word."""

from __future__ import annotations

import pytest
from my_parts.one_step import OneStepProposer

from experiments.runs.tasks.files import find_task
from mcts.domain import Candidate, Guidance
from mcts.ports import ProposalRequest, Proposer
from mcts.search.trial import Move
from profilers.recordings.replay import ReplayEvaluator
from profilers.recordings.t4 import load_recording
from tests.contracts.proposer_contract import ProposerContract

SOURCE = find_task("row_softmax")
BASELINE = SOURCE.task.baseline
PARENT = Candidate(
    source=BASELINE.source,
    tunables={**BASELINE.tunables, "LANES": 32, "SHUFFLE": 1, "VEC": 4},
)
REQUEST = ProposalRequest(
    task=SOURCE.task,
    parent=PARENT,
    evaluation=ReplayEvaluator(SOURCE.task, load_recording(SOURCE.recordings[-1])).evaluate(PARENT),
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
