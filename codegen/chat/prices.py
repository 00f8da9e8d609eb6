"""What a model costs: the user's prices, in exact decimals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from mcts.errors import InputError
from mcts.journal.spending import told_cost, told_count

_MILLION = Decimal(1_000_000)
_NANO_USD = Decimal("1e-9")
"""The finest part of a dollar that is kept: a token at a cent per million is 10 of them."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens of prompts and of replies (reasoning included)."""

    prompt: Decimal
    reply: Decimal

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars, rounded to nine decimals. Prompt tokens that the service still knew are
        charged like the others.
        """
        exact = (prompt_tokens * self.prompt + completion_tokens * self.reply) / _MILLION
        return nine_decimals(exact)


def parse_prices(options: Iterable[str]) -> dict[str, Price]:
    """``MODEL=IN,OUT`` options as a table. InputError for one that is not."""
    prices: dict[str, Price] = {}
    for option in options:
        model, _, figures = option.rpartition("=")
        amounts = [_amount(part) for part in figures.split(",")]
        if not model or len(amounts) != 2:
            raise _no_price(option)
        prompt, reply = amounts
        if prompt is None or reply is None:
            raise _no_price(option)
        if prices.setdefault(model, Price(prompt, reply)) != Price(prompt, reply):
            raise InputError(f"--price: two prices for {model}")
    return prices


def price_of(usage: Mapping[str, Any], prices: Mapping[str, Price]) -> float | None:
    """What a journalled usage cost by prices that became known later, in dollars.

    Of several replies each goes by the price of its own model, and those that had a cost keep it.
    None if tokens were not counted or none of the prices is for a model: the name it was
    asked by, or what the service calls it, with or without a provider in front.
    """
    costs = [_price_of_one(reply, prices) for reply in usage.get("unpriced") or [usage]]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    return float(total_usd([*known, told_cost(usage.get("priced_usd")) or 0.0]))


def _price_of_one(usage: Mapping[str, Any], prices: Mapping[str, Price]) -> float | None:
    names = {str(usage[name]) for name in ("asked", "model") if usage.get(name)}
    price = next((prices[model] for model in prices if names & set(names_of(model))), None)
    prompt = told_count(usage.get("prompt_tokens"))
    completion = told_count(usage.get("completion_tokens"))
    if price is None or prompt is None or completion is None:
        return None
    return price.cost_usd(prompt, completion)


def names_of(model: str) -> tuple[str, ...]:
    """What a model may be called: by its full name, or without the provider in front."""
    return tuple(filter(None, (model, model.partition("/")[2])))


def nine_decimals(usd: Decimal | float) -> float:
    """An amount to the nano-dollar, as a float whose shortest text is that very decimal."""
    exact = usd if isinstance(usd, Decimal) else Decimal(repr(usd))
    return float(exact.quantize(_NANO_USD))


def total_usd(costs: Iterable[float]) -> Decimal:
    """The exact sum of amounts that have nine decimals at most."""
    return sum((Decimal(repr(cost)) for cost in costs), Decimal(0))


def _amount(text: str) -> Decimal | None:
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < _MILLION else None


def _no_price(option: str) -> InputError:
    return InputError(
        f"--price {option!r}: write MODEL=IN,OUT, in US dollars per million tokens of prompts and "
        "of replies"
    )
