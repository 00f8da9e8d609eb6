"""Prices and sums, exact."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.chat.prices import Price, nine_decimals, parse_prices, price_of, total_usd
from mcts.errors import InputError

amounts = st.decimals(min_value=0, max_value=1000, places=4)
tokens = st.integers(min_value=0, max_value=2_000_000)


def test_a_price_is_in_dollars_per_million_tokens() -> None:
    prices = parse_prices(["gpt-x=2.50,10", "openai/a=b=0,0"])
    assert prices["gpt-x"].cost_usd(1_000_000, 100_000) == 3.5
    assert prices["openai/a=b"] == Price(Decimal(0), Decimal(0))


@pytest.mark.parametrize(
    "option", ["", "m", "m=1", "m=1,2,3", "=1,2", "m=one,2", "m=-1,2", "m=nan,1", "m=1,inf"]
)
def test_an_invalid_price_is_refused(option: str) -> None:
    with pytest.raises(InputError, match="write MODEL=IN,OUT"):
        parse_prices([option])


def test_two_prices_for_a_model_are_a_mistake() -> None:
    with pytest.raises(InputError, match="two prices"):
        parse_prices(["m=1,2", "m=1,3"])


@given(st.lists(st.tuples(amounts, amounts, tokens, tokens), max_size=50))
def test_the_sum_of_rounded_costs_is_exact(calls: list[tuple[Decimal, Decimal, int, int]]) -> None:
    costs = [Price(a, b).cost_usd(m, n) for a, b, m, n in calls]
    exact = sum(
        (((m * a + n * b) / Decimal(1_000_000)).quantize(Decimal("1e-9")) for a, b, m, n in calls),
        Decimal(0),
    )
    assert total_usd(costs) == exact


def test_binary_rounding_errors_are_removed() -> None:
    assert nine_decimals(0.1 + 0.2) == 0.3


def test_a_price_that_became_known_later_is_found_by_either_name() -> None:
    prices = parse_prices(["openai/big=1,10", "claude=2,20"])
    counted = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000}
    assert price_of({"model": "big", **counted}, prices) == 2.0
    assert price_of({"model": "big-2026", "asked": "openai/big", **counted}, prices) == 2.0
    assert price_of({"model": "claude", **counted}, prices) == 4.0
    assert price_of({"model": "small", **counted}, prices) is None
    assert price_of({"model": "big", "prompt_tokens": None}, prices) is None
