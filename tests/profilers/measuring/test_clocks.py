"""Slopes leave out what every batch costs besides, and three clocks must agree."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profilers.measuring.clocks import Batch, Clocks, batch_sizes, slope


@given(st.floats(0.1, 1e4), st.floats(0, 1e4))
def test_a_constant_is_no_slope(per_call: float, constant: float) -> None:
    points = [(n, constant + per_call * n) for n in (3.0, 10.0, 40.0)]
    assert slope(points) == pytest.approx(per_call, rel=1e-6, abs=1e-6)


def test_a_slope_needs_two_sizes() -> None:
    with pytest.raises(ValueError):
        slope([(3, 1.0), (3, 2.0)])


@given(st.floats(1e-3, 1e7), st.integers(0, 2**32))
def test_sizes_differ_and_follow_the_length_of_a_call(call_us: float, seed: int) -> None:
    sizes = batch_sizes(call_us, 3000, random.Random(seed))
    assert len(set(sizes)) == len(sizes) >= 3 and min(sizes) >= 1
    assert max(sizes) <= 12_500
    if call_us > 3000:
        assert sorted(sizes) == [1, 2, 3]


def test_sizes_cannot_be_foreseen() -> None:
    assert len({tuple(batch_sizes(10, 3000, random.Random(seed))) for seed in range(20)}) > 15


def test_an_overhead_of_every_batch_is_no_disagreement() -> None:
    batches = [Batch(n, 5.0 * n, 5.1 * n + 40, 5.2 * n + 900) for n in (200, 500, 900)]
    clocks = Clocks(batches)
    assert clocks.disagreement() is None
    assert clocks.event_us == pytest.approx(5) and clocks.host_us == pytest.approx(5.1)
    assert clocks.outside_us == pytest.approx(5.2)
