"""Repeatability: coverage of A against A, and the spread over fresh evaluators."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.benchmarks.evidence.repeatability import (
    coverage,
    main,
    read_candidate,
    report,
    spread,
    wilson_interval,
)
from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Profile,
    Timing,
    Verification,
    Workload,
)
from mcts.errors import InputError
from mcts.ports import Evaluator

TASK = KernelTask(
    name="toy",
    dialect="kernelbench",
    baseline=Candidate(source="baseline"),
    reference="class Model: pass",
    workloads=(Workload(name="main", shape={}),),
)
HALF = 0.01


class NoisyEvaluator(Evaluator):
    """Says 1.0 with normal noise of which its interval covers `sigmas` deviations each way.

    Every evaluator is off by its `number` in per cent, as one process may be from the next.
    """

    name = "noisy"
    hardware = Hardware(name="paper")
    task = TASK

    def __init__(self, number: int = 0, *, sigmas: float = 1.96, fail_at: int = 0) -> None:
        self._random = random.Random(number)
        self._shift = number / 100
        self._sigma = HALF / sigmas if sigmas else 0.0
        self._fail_at = fail_at
        self.calls = 0
        self.closed = False

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.calls += 1
        if self.calls == self._fail_at:
            return Evaluation(candidate_id=candidate.id, status="runtime_error", message="it broke")
        speedup = 1.0 + self._shift + self._random.gauss(0, self._sigma)
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=1),
            timing=Timing(
                median_us=1.0,
                low_us=1.0,
                high_us=1.0,
                baseline_us=speedup,
                speedup=speedup,
                speedup_low=speedup - HALF,
                speedup_high=speedup + HALF,
                rounds=1,
            ),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"all": "paper"})

    def close(self) -> None:
        self.closed = True


class ConfirmingEvaluator(NoisyEvaluator):
    can_confirm = True

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        assert evaluation.measured
        return self.evaluate(candidate)


def opener(
    made: list[NoisyEvaluator], make: Callable[[int], NoisyEvaluator] = NoisyEvaluator
) -> Callable[[int], closing[Evaluator]]:
    def open_(number: int) -> closing[Evaluator]:
        made.append(make(number))
        return closing(made[-1])

    return open_


def test_honest_intervals_hold_one_nineteen_times_in_twenty() -> None:
    made: list[NoisyEvaluator] = []
    found = coverage(opener(made), TASK.baseline, replications=2000, reopen=False)
    assert found.low < 0.95 < found.high
    assert found.share == found.held / found.replications
    assert math.isclose(found.median_width, 2 * HALF)
    assert len(made) == 1 and made[0].calls == 2000 and made[0].closed


def test_intervals_that_are_too_narrow_are_seen() -> None:
    found = coverage(
        opener([], lambda number: NoisyEvaluator(number, sigmas=0.5)),
        TASK.baseline,
        replications=200,
        reopen=False,
    )
    assert found.high < 0.9


def test_an_evaluator_can_be_made_for_each_replication() -> None:
    made: list[NoisyEvaluator] = []
    coverage(opener(made), TASK.baseline, replications=5, reopen=True)
    assert [evaluator.calls for evaluator in made] == [1] * 5
    assert all(evaluator.closed for evaluator in made)


def test_failures_are_counted_apart() -> None:
    found = coverage(
        opener([], lambda number: NoisyEvaluator(number, fail_at=2)),
        TASK.baseline,
        replications=4,
        reopen=False,
    )
    assert (found.replications, found.failed) == (3, 1)
    assert "without a timing | 1 |" in report("toy", "noisy", {"coverage": found})


def test_nothing_measured_is_an_error_with_the_reason() -> None:
    with pytest.raises(InputError, match="runtime_error: it broke"):
        coverage(
            opener([], lambda number: NoisyEvaluator(number, fail_at=1)),
            TASK.baseline,
            replications=1,
            reopen=False,
        )


def test_the_spread_is_over_fresh_evaluators() -> None:
    made: list[NoisyEvaluator] = []
    found = spread(
        opener(made, lambda number: NoisyEvaluator(number, sigmas=0)), TASK.baseline, processes=4
    )
    assert found.speedups == (1.0, 1.01, 1.02, 1.03)
    assert math.isclose(found.spread, 0.03)
    assert not found.overlap
    assert len(made) == 4 and all(evaluator.closed for evaluator in made)


def test_confirmations_come_from_one_evaluator_that_can() -> None:
    made: list[NoisyEvaluator] = []
    found = spread(opener(made, ConfirmingEvaluator), TASK.baseline, processes=3, confirm=True)
    assert len(found.speedups) == 3 and len(made) == 1 and made[0].calls == 4
    with pytest.raises(InputError, match="noisy confirms nothing"):
        spread(opener([]), TASK.baseline, processes=3, confirm=True)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_share_holds_it(counts: tuple[int, int]) -> None:
    held, count = counts
    low, high = wilson_interval(held, count)
    assert 0 <= low <= held / count + 1e-12 and held / count - 1e-12 <= high <= 1


def test_the_interval_of_a_share_is_wilsons() -> None:
    low, high = wilson_interval(95, 100)
    assert (round(low, 4), round(high, 4)) == (0.8882, 0.9785)


def test_a_candidate_is_the_baseline_or_a_file(tmp_path: Path) -> None:
    assert read_candidate(TASK, None) is TASK.baseline
    path = tmp_path / "candidate.py"
    path.write_text("source")
    assert read_candidate(TASK, path).source == "source"


def test_a_replay_answers_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--task", "transpose", "--evaluator", "replay", "--replications", "4"]
    assert main([*arguments, "--processes", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["coverage"]["replications"] == 4
    assert answer["coverage"]["held"] >= 2
    assert len(answer["baseline"]["speedups"]) == 1
    assert main([*arguments[:-1], "1", "--same"]) == 0
    shown = capsys.readouterr().out
    assert "intervals that hold 1.0" in shown and "fresh processes" not in shown


def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--task", "nowhere"]) == 2
    assert main(["--task", "transpose", "--replications", "0", "--same"]) == 2
    assert all(line.startswith("error: ") for line in capsys.readouterr().err.splitlines())
