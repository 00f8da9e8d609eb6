"""What a run's times say of single values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from codegen.scripted.effects import value_effects

VALUES = ((1, 2, 4, 8), (0, 1), ("a", "b", "c"))
ALL = np.array(list(itertools.product(range(4), range(2), range(3))), dtype=np.int64)


def test_the_value_that_makes_things_fast_has_the_greatest_effect() -> None:
    log_speedups = 0.5 * (ALL[:, 0] == 2) + 0.2 * (ALL[:, 2] == 1)
    effects = value_effects(VALUES, ALL, log_speedups)
    assert effects.shape == (3, 4)
    assert effects[0].argmax() == 2 and effects[2, :3].argmax() == 1
    assert effects[0, 2] - effects[0, 0] > effects[2, 1] - effects[2, 0] > 0
    assert abs(effects[1, 0] - effects[1, 1]) < 0.05
    assert not effects[1, 2:].any() and not effects[2, 3:].any()


def test_the_size_of_the_gains_does_not_matter() -> None:
    log_speedups = 0.5 * (ALL[:, 0] == 2) + 0.2 * (ALL[:, 1] == 1)
    small, large = (value_effects(VALUES, ALL, log_speedups * by) for by in (0.01, 10.0))
    assert small == pytest.approx(large)


def test_a_value_that_fails_counts_as_bad() -> None:
    log_speedups = np.where(ALL[:, 0] == 3, np.nan, 0.1 * (ALL[:, 1] == 1))
    effects = value_effects(VALUES, ALL, log_speedups)
    assert effects[0].argmin() == 3


def test_neighbours_of_a_good_number_are_believed_good_and_neighbours_in_text_are_not() -> None:
    seen = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]], dtype=np.int64)
    effects = value_effects(VALUES, seen, np.array([0.0, 1.0, 0.0, 1.0]))
    assert effects[0, 2] > effects[0, 3] > 0
    assert effects[2, 2] == 0.0


@pytest.mark.parametrize("log_speedups", [[0.1, 0.2, np.nan], [0.3] * 8, [np.nan] * 8])
def test_little_or_nothing_measured_says_nothing(log_speedups: list[float]) -> None:
    rows = ALL[: len(log_speedups)]
    assert not value_effects(VALUES, rows, np.array(log_speedups)).any()
