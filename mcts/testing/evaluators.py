"""What every Evaluator must do. Subclass, say what to judge, and pytest does the rest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest

from mcts.domain import Candidate, Evaluation, Profile
from mcts.ports import Evaluator, Stage


class EvaluatorContract:
    """Override `evaluator` and the candidates; `failing` maps a status to a candidate with it."""

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        raise NotImplementedError("override the fixture evaluator of EvaluatorContract")

    @pytest.fixture
    def working(self) -> Candidate:
        """A candidate that is measured."""
        raise NotImplementedError("override the fixture working of EvaluatorContract")

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        raise NotImplementedError("override the fixture failing of EvaluatorContract")

    def test_it_is_an_evaluator_that_says_what_it_measures_on(self, evaluator: Evaluator) -> None:
        assert isinstance(evaluator, Evaluator)
        assert evaluator.name
        assert evaluator.hardware.name
        assert evaluator.task.workloads
        assert evaluator.devices >= 1

    def test_the_baseline_is_measured_at_its_own_speed(self, evaluator: Evaluator) -> None:
        evaluation = evaluator.evaluate(evaluator.task.baseline)
        assert evaluation.status == "measured", evaluation.message
        assert evaluation.timing is not None
        assert 0.9 < evaluation.timing.speedup < 1.1

    def test_a_working_candidate_is_verified_and_timed(
        self, evaluator: Evaluator, working: Candidate
    ) -> None:
        evaluation = evaluator.evaluate(working)
        assert evaluation.candidate_id == working.id
        assert evaluation.status == "measured", evaluation.message
        assert evaluation.verification is not None and evaluation.verification.passed
        assert evaluation.timing is not None and evaluation.timing.rounds > 0
        assert Evaluation.model_validate_json(evaluation.model_dump_json()) == evaluation

    def test_a_bad_candidate_is_a_status_and_no_exception(
        self, evaluator: Evaluator, failing: dict[str, Candidate], working: Candidate
    ) -> None:
        assert failing, "the contract needs at least one candidate that fails"
        for status, candidate in failing.items():
            evaluation = evaluator.evaluate(candidate)
            assert evaluation.status == status, evaluation.message
            assert evaluation.message
            assert evaluation.speedup is None
        assert evaluator.evaluate(working).status == "measured"

    def test_a_profile_holds_numbers_or_names_what_is_missing(
        self, evaluator: Evaluator, working: Candidate
    ) -> None:
        evaluation = evaluator.evaluate(working)
        profile = evaluator.profile(working, evaluation)
        assert isinstance(profile, Profile)
        assert profile.kernels or profile.missing
        for kernel in profile.kernels:
            assert kernel.name

    def test_a_confirmation_is_of_the_candidate_it_was_asked_about(
        self, evaluator: Evaluator, working: Candidate
    ) -> None:
        evaluation = evaluator.evaluate(working)
        confirmed = evaluator.confirm(working, evaluation)
        assert confirmed.candidate_id == working.id
        assert confirmed.measured or confirmed.message, "measured, or a failure that says why"
        assert Evaluation.model_validate_json(confirmed.model_dump_json()) == confirmed

    def test_stages_that_it_tells_are_known_and_of_the_candidate_that_it_judges(
        self, evaluator: Evaluator, working: Candidate
    ) -> None:
        told: list[tuple[str, str]] = []
        evaluator.tell_stages(lambda candidate_id, stage: told.append((candidate_id, stage)))
        evaluator.profile(working, evaluator.evaluate(working))
        if not told:
            pytest.skip("this evaluator tells no stages")
        assert {candidate_id for candidate_id, _ in told} == {working.id}
        stages = [stage for _, stage in told]
        assert set(stages) <= set(get_args(Stage))
        assert stages.index("verifying") < stages.index("timing")

    def test_it_adds_energy_or_says_why_not(self, evaluator: Evaluator, working: Candidate) -> None:
        evaluation = evaluator.evaluate(working)
        metered = evaluator.measure_energy(working, evaluation)
        assert metered.candidate_id == working.id
        assert metered.timing == evaluation.timing
        if metered.energy is None:
            assert len(metered.notes) > len(evaluation.notes)
        else:
            energy = metered.energy
            assert energy.low_mj <= energy.energy_mj <= energy.high_mj
            assert energy.baseline_mj is not None, "measured beside the baseline"
            assert evaluator.measures_energy

    def test_it_can_be_called_from_several_threads(
        self, evaluator: Evaluator, working: Candidate, failing: dict[str, Candidate]
    ) -> None:
        candidates = [working, *failing.values()] * 3
        with ThreadPoolExecutor(4) as pool:
            evaluations = list(pool.map(evaluator.evaluate, candidates))
        assert [e.candidate_id for e in evaluations] == [c.id for c in candidates]

    def test_close_may_be_called_twice(self, evaluator: Evaluator) -> None:
        evaluator.close()
        evaluator.close()
