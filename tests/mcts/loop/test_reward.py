"""Rewards: monotone beyond the speed of light, flat inside the noise, zero for failures."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Evaluation
from mcts.loop.reward import WORKING_FLOOR, RewardScale, RewardSettings
from mcts.search.trial import MOST
from tests.support.evaluations import measured

speedups = st.floats(1e-4, 1e5)
scales = st.builds(
    RewardScale,
    speed_of_light_speedup=st.none() | st.floats(1.06, 1e4),
    noise=st.floats(0.001, 0.2),
    calibrated=st.booleans(),
)
unstepped = st.builds(
    RewardScale,
    speed_of_light_speedup=st.none() | st.floats(1.06, 1e4),
    noise=st.floats(0.001, 0.2),
    stepped=st.just(False),
)


@given(scale=scales | unstepped, one=speedups, other=speedups)
def test_a_shorter_time_never_earns_less(scale: RewardScale, one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    assert 0.0 < scale.of_speedup(slow) <= scale.of_speedup(fast) < MOST
    closed = replace(scale, open=False)
    assert closed.of_speedup(fast) == min(1.0, scale.of_speedup(fast))


@given(scale=scales | unstepped, slow=st.floats(1, 1e4), factor=st.floats(2.1, 100))
def test_a_clearly_shorter_time_earns_more_even_beyond_the_speed_of_light(
    scale: RewardScale, slow: float, factor: float
) -> None:
    fast = slow * (1 + scale.noise) ** factor
    assert scale.of_speedup(fast) > scale.of_speedup(slow)


@given(scale=scales)
def test_baseline_speed_earns_the_floor(scale: RewardScale) -> None:
    assert scale.of_speedup(1.0) == pytest.approx(WORKING_FLOOR)


@given(scale=scales, share=st.floats(-0.49, 0.49))
def test_differences_inside_the_noise_earn_nothing(scale: RewardScale, share: float) -> None:
    assert scale.of_speedup((1 + scale.noise) ** share) == scale.of_speedup(1.0)


def test_the_speed_of_light_earns_one_and_more_than_that_is_more() -> None:
    scale = RewardScale(speed_of_light_speedup=8.0, noise=0.01)
    assert scale.of_speedup(8.0) == pytest.approx(1.0, abs=0.01)
    assert scale.of_speedup(64.0) == pytest.approx(1.9, abs=0.01)
    assert replace(scale, open=False).of_speedup(64.0) == 1.0
    assert scale.of_speedup(8.0**0.5) == pytest.approx(0.55, abs=0.01)


@pytest.mark.parametrize(
    ("speedup", "near"), [(4.0, False), (7.7, True), (8.3, True), (8.5, False), (40.0, False)]
)
def test_beyond_the_speed_of_light_nothing_is_near_its_peak(speedup: float, near: bool) -> None:
    scale = RewardScale(speed_of_light_speedup=8.0)
    assert scale.near_peak(measured(speedup)) is near
    assert replace(scale, open=False).near_peak(measured(speedup)) is (speedup > 7)


def test_a_run_goes_on_with_the_rewards_that_it_began_with() -> None:
    began = asdict(RewardSettings())
    assert RewardSettings().as_begun(None) == RewardSettings().as_begun(began) == RewardSettings()
    for name in ("open_reward", "own_times"):
        without = RewardSettings().as_begun({**began, name: False})
        assert without == replace(RewardSettings(), **{name: False})


def test_without_steps_the_smallest_gain_earns_something() -> None:
    scale = RewardScale(speed_of_light_speedup=8.0, noise=0.01, stepped=False)
    assert scale.of_speedup(1.001) > scale.of_speedup(1.0)
    assert scale.of_speedup(8.0**0.5) == pytest.approx(0.55)


def test_without_calibration_the_speed_of_light_is_not_the_measure() -> None:
    scale = RewardScale(speed_of_light_speedup=8.0, noise=0.01, calibrated=False)
    assert scale.of_speedup(4.0) == RewardScale(noise=0.01).of_speedup(4.0)
    assert scale.of_speedup(4.0) == pytest.approx(0.1 + 0.9 * 3 / 4, abs=0.01)


def test_a_failure_earns_nothing() -> None:
    failed = Evaluation(candidate_id="c", status="timed_out", message="deadline of 10 s")
    assert RewardScale().reward(failed) == 0.0
