"""Random search and Optuna's TPE, the proposers that look at the whole space."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from codegen.scripted.tpe import TpeProposer
from codegen.scripted.uniform import UniformProposer
from mcts.errors import InputError
from mcts.ports import Attempt, ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.proposers import ProposerContract
from mcts.testing.toy import SilentAdvisor, ToyEvaluator, toy_task
from tests.experiments.conftest import make_task


def request_of(seed: int = 1) -> ProposalRequest:
    task = toy_task()
    evaluation = ToyEvaluator().evaluate(task.baseline)
    return ProposalRequest(
        task=task,
        parent=task.baseline,
        evaluation=evaluation,
        guidance=SilentAdvisor().advise(task, evaluation),
        move=Move("improve", 0),
        tried=frozenset({task.baseline.id}),
        seed=seed,
    )


def searched(proposer: Proposer, evaluations: int, *, seed: int) -> list[float]:
    """The speedups of a best-of-N run by hand, failures as 0."""
    evaluator, request = ToyEvaluator(), request_of()
    speedups = []
    for at in range(evaluations):
        request = dataclasses.replace(request, seed=seed * 1000 + at)
        candidate = proposer.propose(request).candidate
        assert candidate.id not in request.tried
        evaluation = evaluator.evaluate(candidate)
        speedups.append(evaluation.speedup or 0.0)
        request = dataclasses.replace(
            request,
            siblings=(*request.siblings, Attempt(candidate=candidate, evaluation=evaluation)),
            tried=request.tried | {candidate.id},
        )
    return speedups


class TestUniform(ProposerContract):
    exhausts = True

    @pytest.fixture
    def proposer(self) -> Proposer:
        return UniformProposer()

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return request_of()


class TestUniformOnASource(TestUniform):
    @pytest.fixture
    def request_(self) -> ProposalRequest:
        task = make_task()
        return dataclasses.replace(
            request_of(), task=task, parent=task.baseline, tried=frozenset({task.baseline.id})
        )


class TestTpe(ProposerContract):
    exhausts = True

    @pytest.fixture
    def proposer(self) -> Proposer:
        pytest.importorskip("optuna")
        return TpeProposer()

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        return request_of()


def test_random_search_takes_every_configuration_as_often() -> None:
    proposer, count = UniformProposer(), 2000
    drawn = [
        proposer.propose(request_of(seed)).candidate.tunables["BLOCK"] for seed in range(count)
    ]
    for value in (1, 2, 4, 8, 16, 32):
        assert abs(drawn.count(value) / count - 1 / 6) < 0.04


def test_tpe_learns_from_what_was_measured() -> None:
    pytest.importorskip("optuna")
    late = [searched(TpeProposer(), 40, seed=seed)[20:] for seed in range(2)]
    random = [searched(UniformProposer(), 40, seed=seed)[20:] for seed in range(2)]
    assert sum(map(sum, late)) > 1.2 * sum(map(sum, random))


def test_tpe_keeps_nothing_between_requests() -> None:
    pytest.importorskip("optuna")
    used = TpeProposer()
    first = searched(used, 16, seed=1)
    assert searched(used, 16, seed=1) == first == searched(TpeProposer(), 16, seed=1)


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"rooftree\[optuna\]"):
        TpeProposer()
