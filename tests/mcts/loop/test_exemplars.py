"""Contrastive exemplars: distinct speeds, fast ones more often, never what the prompt has."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Candidate, Evaluation
from mcts.loop.exemplars import BUCKET, TEMPERATURE, Exemplars
from mcts.ports import Attempt
from tests.support.evaluations import measured


def attempt(speedup: float, name: object = None) -> Attempt:
    candidate = Candidate(source=str(speedup if name is None else name))
    evaluation = measured(speedup, spread=0.0, name=candidate.id)
    return Attempt(candidate=candidate, evaluation=evaluation)


def kept(*speedups: float) -> Exemplars:
    exemplars = Exemplars()
    for number, speedup in enumerate(speedups):
        exemplars.add(attempt(speedup, number))
    return exemplars


def speedup_of(found: Attempt) -> float:
    assert found.evaluation is not None and found.evaluation.speedup is not None
    return found.evaluation.speedup


@given(
    speedups=st.lists(st.floats(0.01, 1000), max_size=60),
    seed=st.integers(0, 2**63),
    count=st.integers(0, 4),
)
def test_drawn_exemplars_differ_in_speed_and_are_sorted(
    speedups: list[float], seed: int, count: int
) -> None:
    exemplars = kept(*speedups)
    drawn = exemplars.draw(seed=seed, count=count)
    assert drawn == exemplars.draw(seed=seed, count=count)
    buckets = [math.floor(math.log(speedup_of(found)) / BUCKET) for found in drawn]
    assert buckets == sorted(set(buckets), reverse=True)
    everything = {math.floor(math.log(speedup) / BUCKET) for speedup in speedups}
    assert len(drawn) == min(count, len(everything))


@given(
    speedups=st.lists(st.floats(0.5, 4), min_size=1, max_size=40),
    barred=st.sets(st.integers(0, 39)),
    seed=st.integers(0, 2**32),
)
def test_variants_already_in_the_prompt_are_never_drawn(
    speedups: list[float], barred: set[int], seed: int
) -> None:
    exemplars = kept(*speedups)
    besides = [attempt(1.0, number).candidate for number in barred]
    ids = [candidate.id for candidate in besides if candidate]
    for found in exemplars.draw(seed=seed, besides=ids, count=50):
        assert found.candidate is not None and found.candidate.id not in ids
    open_ones = [s for number, s in enumerate(speedups) if number not in barred]
    buckets = {math.floor(math.log(speedup) / BUCKET) for speedup in open_ones}
    assert len(exemplars.draw(seed=seed, besides=ids, count=50)) == len(buckets)


def test_buckets_are_drawn_by_softmax_and_their_variants_uniformly() -> None:
    fast = math.exp(TEMPERATURE)
    exemplars = kept(1.0, 1.0, 1.0, fast, fast)
    drawn = Counter(
        found.candidate.source
        for seed in range(6000)
        for found in exemplars.draw(seed=seed, count=1)
        if found.candidate
    )
    fast_share = (drawn["3"] + drawn["4"]) / 6000
    assert abs(fast_share - math.e / (1 + math.e)) < 0.03
    for name in "012":
        assert abs(drawn[name] / 6000 - (1 - math.e / (1 + math.e)) / 3) < 0.03


def test_failures_and_duplicates_are_left_out() -> None:
    exemplars = kept(1.0, 2.0)
    exemplars.add(attempt(2.0, 1))
    failed = Evaluation(candidate_id="x", status="runtime_error", message="no")
    exemplars.add(Attempt(candidate=Candidate(source="x"), evaluation=failed))
    exemplars.add(Attempt(reason="the reply holds no code"))
    assert len(exemplars) == 2
    assert Exemplars().draw(seed=1) == ()


def test_speeds_beyond_all_measure_do_not_overflow() -> None:
    exemplars = kept(1e-300, 1.0, 1e300)
    assert [speedup_of(found) for found in exemplars.draw(seed=3, count=3)] == [1e300, 1.0, 1e-300]
