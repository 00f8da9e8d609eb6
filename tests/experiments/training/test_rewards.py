"""What verdicts are worth to a trainer."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.training.rewards import (
    LOWEST,
    REWARDS,
    levels,
    log_speedup,
    lower_bound,
    smoothed,
    why,
)
from mcts.domain import Evaluation, Refusal, Verification
from mcts.domain.evaluation import FAILED, CheatClass, ShapeTiming
from tests.support.evaluations import measured, times

speedups = st.floats(0.01, 1000)


def refused(cheat: CheatClass = "side_stream") -> Evaluation:
    return Evaluation(
        candidate_id="c",
        status="refused",
        message="seen",
        verification=Verification(passed=True, rounds=3),
        timing=measured(50.0).timing,
        refusal=Refusal(cheat=cheat, evidence="work on another stream"),
    )


@pytest.mark.parametrize(
    ("speedup", "over_compile", "level"),
    [
        (0.5, None, 1.0),
        (1 / 0.951, None, 1.0),
        (1 / 0.949, None, 2.0),
        (1 / 0.949, 0.5, 2.0),
        (1 / 0.949, 1 / 0.949, 3.0),
        (0.9, 2.0, 1.0),
    ],
)
def test_levels_are_cuda_agents(speedup: float, over_compile: float | None, level: float) -> None:
    other = measured(over_compile) if over_compile else None
    assert levels(measured(speedup), other) == level


@pytest.mark.parametrize("cheat", get_args(CheatClass))
def test_a_cheat_earns_the_least_however_fast_it_was_timed(cheat: CheatClass) -> None:
    cheating = refused(cheat)
    assert [of(cheating) for of in REWARDS.values()] == [LOWEST] * len(REWARDS)
    assert smoothed([cheating, measured(1.1), measured(2.0)])[0] == -1.5
    assert why(cheating) == f"refused: {cheat}"


@pytest.mark.parametrize("status", sorted(FAILED))
def test_what_was_not_measured_earns_the_least(status: str) -> None:
    parts = {
        "wrong_result": {"verification": Verification(passed=False, rounds=1)},
        "suspect": {"timing": measured(9.0).timing},
        "refused": {"refusal": Refusal(cheat="leak", evidence="seen")},
    }
    failed = Evaluation.model_validate(
        {"candidate_id": "c", "status": status, "message": "m", **parts.get(status, {})}
    )
    assert [of(failed) for of in REWARDS.values()] == [LOWEST] * len(REWARDS)
    assert why(failed).startswith(status)


@given(speedups, speedups)
def test_rewards_rise_with_the_speedup_between_their_ends(one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    for of in REWARDS.values():
        assert LOWEST <= of(measured(slow)) <= of(measured(fast)) <= 3
    assert log_speedup(measured(64.0)) == log_speedup(measured(6400.0)) == 1


@given(speedups, st.floats(0.001, 0.5))
def test_noise_earns_nothing(speedup: float, spread: float) -> None:
    found = measured(speedup, spread=spread)
    assert found.timing is not None
    if found.timing.speedup_low <= 1 <= found.timing.speedup_high:
        assert lower_bound(found) == 0
    else:
        assert lower_bound(found) <= log_speedup(found)


def test_the_lower_end_counts_on_either_side_of_the_baseline() -> None:
    slower = measured(0.5, spread=0.2)
    assert lower_bound(slower) < log_speedup(slower) < 0
    assert lower_bound(measured(0.5, spread=0.3)) < lower_bound(slower), "noise earns nothing"


def test_what_may_not_be_handed_back_earns_no_more_than_the_baseline() -> None:
    found = measured(3.0)
    assert found.timing is not None
    shapes = tuple(
        ShapeTiming(**times(speedup), workload=name, weight=0.5)
        for name, speedup in (("large", 8.0), ("small", 0.5))
    )
    held_back = found.model_copy(
        update={"timing": found.timing.model_copy(update={"shapes": shapes})}
    )
    assert held_back.held_back == ("small",)
    assert levels(held_back, measured(2.0)) == 1
    assert log_speedup(held_back) == lower_bound(held_back) == 0


@given(st.lists(speedups, min_size=2, max_size=12))
def test_a_groups_rewards_have_no_mean_and_are_clipped(group: list[float]) -> None:
    rewards = smoothed([measured(speedup) for speedup in group])
    assert all(-1.5 <= reward <= 1.5 for reward in rewards)
    if max(map(abs, rewards)) < 1.5:
        assert sum(rewards) == pytest.approx(0, abs=1e-6)


def test_groups_without_a_difference_teach_nothing_but_failure() -> None:
    assert smoothed([]) == []
    assert smoothed([measured(2.0), measured(2.0)]) == [0, 0]
    assert smoothed([refused(), refused()]) == [-1.5, -1.5]
