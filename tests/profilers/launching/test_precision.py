"""An error is held against an honest one: rounding passes, a lower precision does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from profilers.launching.precision import REGIONS, half_ulp, timed_runs, worst_excess

COUNT = 6400


def run(error: Any, wanted: Any, honest: Any, *, dtype: str = "float32") -> dict[str, Any]:
    """What a worker answers of errors per element, its own and the baseline's."""

    def entry(errors: Any) -> dict[str, Any]:
        square = np.square(np.broadcast_to(errors, (COUNT,)))
        expected = np.square(np.broadcast_to(wanted, (COUNT,)))
        return {
            "name": "y",
            "dtype": dtype,
            "expected_dtype": "float64",
            "elements": COUNT,
            "square_error": square.reshape(REGIONS, -1).sum(axis=1).tolist(),
            "square_expected": expected.reshape(REGIONS, -1).sum(axis=1).tolist(),
        }

    return {"outputs": [entry(error)], "honest": [entry(honest)]}


def test_half_an_ulp_is_that_of_the_coarser_type() -> None:
    assert half_ulp("float32", "float64", 1.5) == 2.0**-24
    assert half_ulp("float32", "float64", 4.0) == 2.0**-22
    assert half_ulp("bfloat16", "float64", 1.0) == 2.0**-8
    assert half_ulp("float64", "float32", 1.0) == 2.0**-24
    assert half_ulp("float32", "float64", 0.0) == 2.0**-150
    assert half_ulp("float64", "float64", 0.0) > 0


def test_the_baselines_own_error_has_the_ratio_one() -> None:
    found = worst_excess([("main", run(1e-5, 1.0, 1e-5))])
    assert found is not None and found.ratio == pytest.approx(1) and found.share < 1


@pytest.mark.parametrize(("times", "accepted"), [(40, True), (100, False)])
def test_the_bar_is_a_multiple_of_the_honest_error(times: float, accepted: bool) -> None:
    found = worst_excess([("main", run(times * 1e-5, 1.0, 1e-5))])
    assert found is not None and (found.share <= 1) is accepted
    assert "64 times" in str(found)


def test_an_exact_baseline_leaves_room_for_rounding() -> None:
    rounding = 10 * 2.0**-24
    found = worst_excess([("main", run(rounding, 1.0, 0.0))])
    assert found is not None and found.share < 1
    found = worst_excess([("main", run(2.0**-9, 1.0, 0.0))])
    assert found is not None and found.share > 1, "computed in bf16"


@pytest.mark.parametrize(
    ("error", "honest", "cut", "limit"),
    [
        (1.9e-3, 1e-6, 1e-3, 2),
        (2.1e-3, 1e-6, 1e-3, 2),
        (60e-6, 1e-6, 1e-6, 64),
        (70e-6, 1e-6, 1e-6, 64),
        (1.9e-4, 2e-6, 1e-4, 2),
        (6.3e-4, 1e-5, 2e-5, 32),
    ],
)
def test_where_inputs_may_be_cut_their_error_counts_too(
    error: float, honest: float, cut: float, limit: float
) -> None:
    told = run(error, 1.0, honest)
    found = worst_excess([("main", {**told, "cut": run(cut, 1.0, cut)["honest"]})])
    assert found is not None and found.limit == pytest.approx(limit)
    assert (found.share <= 1) is (error <= max(64 * honest, 2 * cut))
    assert f"at most {limit:.3g} times" in str(found)


@pytest.mark.parametrize("runs", [1, 8])
def test_few_values_tell_nothing_of_cut_inputs(runs: int) -> None:
    one = run(3e-3, 1.0, 1e-6)
    for entry in (*one["outputs"], *one["honest"]):
        entry["elements"] = 64
    told = {**one, "cut": [{**one["honest"][0], "square_error": one["outputs"][0]["square_error"]}]}
    found = worst_excess([("main", told)] * runs)
    assert found is not None and found.limit == (2 if runs == 8 else 32)


def test_one_bad_region_is_enough() -> None:
    error = np.full(COUNT, 1e-6)
    error[-COUNT // REGIONS :] = 3e-4
    found = worst_excess([("main", run(error, 1.0, 1e-6))])
    assert found is not None and found.share > 1 and found.region == REGIONS - 1
    assert "region 64 of 64" in str(found)


def test_a_lucky_case_of_the_baseline_does_not_set_the_bar() -> None:
    lucky, usual = run(1e-5, 1.0, 1e-8), run(1e-5, 1.0, 1e-5)
    alone = worst_excess([("main", lucky)])
    together = worst_excess([("main", lucky), ("main", usual), ("main", usual)])
    assert alone is not None and alone.share > 1
    assert together is not None and together.share < 1


def test_integers_have_no_precision() -> None:
    assert worst_excess([("main", run(1.0, 1.0, 0.0, dtype="int32"))]) is None
    assert worst_excess([]) is None


def timed(error: float, rounds: int) -> list[dict[str, Any]]:
    """A timed output, its sums over `rounds`."""
    (output,) = run(error, 1.0, 0.0)["outputs"]
    sums = {name: [rounds * value for value in output[name]] for name in ("square_error",)}
    wanted = [rounds * value for value in output["square_expected"]]
    return [{**output, **sums, "square_expected": wanted, "rounds": rounds}]


@pytest.mark.parametrize("rounds", [1, 25])
def test_a_timed_error_counts_even_if_verified_calls_were_exact(rounds: int) -> None:
    verified = [run(1e-6, 1.0, 1e-6), run(1e-6, 1.0, 2e-6)]
    honest = worst_excess(timed_runs("main", timed(3e-6, rounds), verified))
    assert honest is not None and honest.share < 1
    half = worst_excess(timed_runs("main", timed(5e-4, rounds), verified))
    assert half is not None and half.share > 1


def test_timed_errors_are_not_judged_without_honest_ones() -> None:
    bare = {"outputs": run(1e-6, 1.0, 1e-6)["outputs"]}
    assert worst_excess(timed_runs("main", timed(5e-4, 3), [bare])) is None
