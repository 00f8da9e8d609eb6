"""Where a run's times promise most."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from codegen.scripted.expected_improvement import expected_gains

VALUES = ((1, 2, 4, 8), (0, 1), ("a", "b", "c"))
ALL = np.array(list(itertools.product(range(4), range(2), range(3))), dtype=np.int64)


def promised(rows: NDArray[np.int64], log_speedups: list[float]) -> list[tuple[int, ...]]:
    """All rows that were not measured, the most promising first."""
    gains = expected_gains(VALUES, rows, np.array(log_speedups), ALL)
    assert gains is not None and np.isfinite(gains).all() and (gains >= 0).all()
    measured = set(map(tuple, rows.tolist()))
    ranked = [tuple(ALL[at].tolist()) for at in np.argsort(-gains, kind="stable")]
    return [row for row in ranked if row not in measured]


def rows_of(*rows: tuple[int, int, int]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)


def test_the_neighbourhood_of_what_is_fast_comes_first() -> None:
    rows = rows_of((0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (0, 1, 1), (0, 1, 2))
    first = promised(rows, [0.0, 0.1, 0.4, 0.9, 0.0, 0.0])[0]
    assert first[0] == 3


def test_a_value_never_measured_comes_before_more_of_what_brought_nothing() -> None:
    """All of "a" and "b" came to the same, whatever the rest was."""
    seen = ALL[(ALL[:, 2] < 2) & (ALL[:, 0] != 1)]
    times = [0.5 if row[0] == 0 else 0.45 for row in seen.tolist()]
    ranked = promised(seen, times)
    assert all(row[2] == 2 for row in ranked[:4])


def test_values_good_only_together_are_told_from_values_good_alone() -> None:
    """Tunables 0 and 1 are good where both have moved, and bad where one has."""
    together = {(0, 0): 0.0, (3, 0): -0.8, (0, 1): -0.8, (3, 1): 0.6}
    seen = rows_of(*((a, b, c) for a, b in together for c in (0, 1)))
    ranked = promised(seen, [together[a, b] for a, b, _ in seen.tolist()])
    with_c = [row[:2] for row in ranked if row[2] == 2 and row[0] in (0, 3)]
    assert with_c[0] == (3, 1) and set(with_c[2:]) == {(3, 0), (0, 1)}


def test_the_scale_of_small_gains_does_not_matter() -> None:
    rows = ALL[::3]
    log_speedups = 0.03 * (rows[:, 0] == 2) + 0.01 * (rows[:, 1] == 1)
    small, large = (expected_gains(VALUES, rows, log_speedups * by, ALL) for by in (0.1, 10.0))
    assert small == pytest.approx(large)


def test_how_bad_the_bad_is_does_not_matter() -> None:
    rows = ALL[::3]
    fine = 0.03 * (rows[:, 0] == 2)
    bad, awful = (
        expected_gains(VALUES, rows, np.where(rows[:, 0] == 0, slow, fine), ALL)
        for slow in (-2.0, -20.0)
    )
    assert bad == pytest.approx(awful)


def test_a_value_that_fails_promises_least() -> None:
    rows = ALL[(ALL[:, 2] == 0) | (ALL[:, 1] == 0)]
    log_speedups = [float("nan") if row[0] == 3 else 0.1 * row[1] for row in rows.tolist()]
    assert promised(rows, log_speedups)[-1][0] == 3


@pytest.mark.parametrize("log_speedups", [[0.1, 0.2, np.nan], [0.3] * 8, [np.nan] * 8, []])
def test_little_or_nothing_measured_says_nothing(log_speedups: list[float]) -> None:
    rows = ALL[: len(log_speedups)]
    assert expected_gains(VALUES, rows, np.array(log_speedups), ALL) is None
