"""Experience moves a tool's weight: away from one as far as the data goes, and no further."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Evidence, Finding
from mcts.errors import InputError
from microtools.ranking import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    OTHER_PRIOR,
    PRIOR_GAINS,
    PSEUDO_COUNT,
    UNKNOWN_GAIN,
    ToolRecord,
    calibrated_weights,
    score,
)

COUNTS = st.integers(0, 10_000)
GAINS = st.floats(-5, 5)
TOOLS = st.sampled_from(["coalescing", "register_spills", "a_tool_of_mine"])


@st.composite
def records(draw: st.DrawFn) -> ToolRecord:
    followed = draw(COUNTS)
    failed = draw(st.integers(0, followed))
    improved = draw(st.integers(0, followed - failed))
    return ToolRecord(draw(TOOLS), followed, improved, failed, draw(GAINS))


def weight(record: ToolRecord) -> float:
    return calibrated_weights([record])[record.tool]


def prior(tool: str) -> float:
    return math.log(PRIOR_GAINS.get(tool, OTHER_PRIOR))


@given(TOOLS, GAINS)
def test_no_data_is_exactly_one(tool: str, gain: float) -> None:
    assert weight(ToolRecord(tool, 0, 0, 0, gain)) == 1.0
    assert calibrated_weights([]) == {}


@given(records())
def test_weights_stay_within_bounds(record: ToolRecord) -> None:
    assert LEAST_WEIGHT <= weight(record) <= MOST_WEIGHT


@given(records(), GAINS)
def test_a_greater_gain_never_lowers_the_weight(record: ToolRecord, other: float) -> None:
    low, high = sorted((record.mean_log_gain, other))
    mild = ToolRecord(record.tool, record.followed, record.improved, record.failed, low)
    great = ToolRecord(record.tool, record.followed, record.improved, record.failed, high)
    assert weight(mild) <= weight(great)


@given(TOOLS, COUNTS)
def test_an_expected_gain_changes_nothing(tool: str, followed: int) -> None:
    met = ToolRecord(tool, followed, followed, 0, prior(tool))
    assert weight(met) == pytest.approx(1.0)


@given(TOOLS, st.integers(1, 1000), st.integers(1, 1000), st.floats(-1, 1))
def test_more_of_the_same_data_pulls_further(tool: str, few: int, more: int, gain: float) -> None:
    some = math.log(weight(ToolRecord(tool, few, 0, 0, gain)))
    much = math.log(weight(ToolRecord(tool, few + more, 0, 0, gain)))
    assert abs(much) >= abs(some) - 1e-12
    assert some * (gain - prior(tool)) >= -1e-12


@given(TOOLS, st.integers(1, 100), st.floats(0.01, 2))
def test_a_failure_counts_as_no_gain(tool: str, followed: int, gain: float) -> None:
    failing = ToolRecord(tool, followed + 1, followed, 1, gain)
    spread = gain * followed / (followed + 1)
    assert weight(failing) == pytest.approx(weight(ToolRecord(tool, followed + 1, 0, 0, spread)))


@given(st.lists(records(), max_size=6), st.randoms())
def test_records_add_up_in_any_order(found: list[ToolRecord], random: object) -> None:
    turned = list(reversed(found))
    assert calibrated_weights(found) == pytest.approx(calibrated_weights(turned))


def test_the_formula_by_hand() -> None:
    """Coalescing: prior 1.24; five followers, one failed, the others 2x each."""
    found = weight(ToolRecord("coalescing", 5, 4, 1, math.log(2)))
    expected = math.exp((4 * math.log(2) + 5 * math.log(1.24)) / (5 + PSEUDO_COUNT))
    assert found == pytest.approx(expected / 1.24)


@pytest.mark.parametrize(
    "numbers",
    [(1, 2, 0, 0.0), (1, 1, 1, 0.0), (3, -1, 0, 0.0), (3, 0, -1, 0.0), (1, 0, 0, math.nan),
     (1, 0, 0, math.inf), (-1, 0, 0, 0.0)],
)  # fmt: skip
def test_an_impossible_record_is_refused(numbers: tuple[int, int, int, float]) -> None:
    with pytest.raises(InputError, match="'x'"):
        ToolRecord("x", *numbers)


def _found(tool: str, strength: float) -> Finding:
    evidence = (Evidence(metric="x", value=1, threshold=0),)
    return Finding(tool=tool, axis="memory", strength=strength, evidence=evidence, advice="do it")


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.3, 3))
def test_the_score_is_the_product_it_is_said_to_be(
    symptom: float, one: float, two: float, share: float
) -> None:
    found = [_found("symptom", symptom), _found("one", one), _found("two", two)]
    causes = {"symptom": frozenset({"one", "two", "not_there"})}
    scored = score(found, weights={"symptom": 2.0}, causes=causes, share=share)
    gain = math.sqrt(math.log(UNKNOWN_GAIN))
    assert scored[0].score == pytest.approx(symptom * 2 * share * (1 - one) * (1 - two) * gain)
    assert scored[0].cause == ("one" if one >= two else "two")
    assert [item.unexplained for item in scored[1:]] == [1, 1]
