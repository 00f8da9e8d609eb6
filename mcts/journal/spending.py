"""What a run costs: money and tokens of models, seconds of judging. Sums are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

REPLIES: Mapping[str, str] = {
    "proposed": "trial",
    "rejected": "trial",
    "no_moves": "trial",
    "unrecorded": "trial",
    "abandoned": "trial",
    "removed": "key",
}
"""Events with the `usage` of replies, by what says whose they are: a trial, a ablation's key."""
PRICES: Mapping[str, str] = {"priced": "trial", "removal_priced": "key"}
"""Events with a price found later for such replies, likewise."""

MOST_TOKENS = 10**9
"""Tokens of one proposal; a service that counts more is not believed: it is no count."""
MOST_USD = 10**9
"""Likewise for what a proposal costs."""
_SIGNS_OF_A_CALL = ("model", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A sum over replies and measurements.

    cost: US dollars, of the `replies` whose cost is known; `unpriced` counts the others.
    tokens: of prompts and completions, as far as they were told; `uncounted` replies did not say
    them all.
    gpu_s: seconds that candidates were judged: compiled, verified, timed, profiled, confirmed.
    """

    cost: Decimal = Decimal(0)
    tokens: int = 0
    gpu_s: float = 0.0
    replies: int = 0
    unpriced: int = 0
    uncounted: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            cost=self.cost + other.cost,
            tokens=self.tokens + other.tokens,
            gpu_s=self.gpu_s + other.gpu_s,
            replies=self.replies + other.replies,
            unpriced=self.unpriced + other.unpriced,
            uncounted=self.uncounted + other.uncounted,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            cost=self.cost - other.cost,
            tokens=self.tokens - other.tokens,
            gpu_s=self.gpu_s - other.gpu_s,
            replies=self.replies - other.replies,
            unpriced=self.unpriced - other.unpriced,
            uncounted=self.uncounted - other.uncounted,
        )

    @property
    def cost_usd(self) -> float:
        """The known cost as a number for display and JSON; sum `cost`, not this."""
        return float(self.cost)


NOTHING = Spending()


def spent_on_reply(usage: Mapping[str, Any]) -> Spending:
    """What a journalled usage says the replies of one proposal cost.

    Of several replies those that told their cost or tokens are in the sums, whatever the others
    did: where `cost_usd` is null, `priced_usd` is what is known of it and `unpriced` lists the
    replies that are not in it; where a count is null, `counted_tokens` and `uncounted` say the same
    of tokens. A usage that names no model, tokens or cost is that of a proposer that asks nobody:
    free.
    """
    if not any(name in usage for name in _SIGNS_OF_A_CALL):
        return NOTHING
    replies = told_count(usage.get("replies")) or 1
    cost = money(told_cost(usage.get("cost_usd")))
    known = money(told_cost(usage.get("priced_usd"))) if cost is None else cost
    counts = [told_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    tokens, uncounted = sum(count or 0 for count in counts), 0
    if None in counts:
        tokens = max(tokens, told_count(usage.get("counted_tokens")) or 0)
        uncounted = _some_of(replies, told_count(usage.get("uncounted")))
    return Spending(
        cost=known or Decimal(0),
        tokens=tokens,
        replies=replies,
        unpriced=0 if cost is not None else _some_of(replies, _length(usage.get("unpriced"))),
        uncounted=uncounted,
    )


class Receipts:
    """What each event adds to the sum: replies, and prices found for them later.

    A price is that of all that a trial's replies cost, or a ablation's, so that what was in the sum
    already is taken off it. A journal may hold it before the replies: it is kept first where the
    world failed them.
    """

    def __init__(self) -> None:
        self._replied: dict[int | str, Mapping[str, Any]] = {}
        self._priced: set[int | str] = set()

    def take(self, kind: str, payload: Mapping[str, Any]) -> Spending:
        """What an event adds; nothing if it tells of neither. KeyError if it is damaged."""
        if kind in PRICES:
            return self._price(payload[PRICES[kind]], payload["cost_usd"])
        if kind in REPLIES:
            return self._reply(payload.get(REPLIES[kind]), payload.get("usage", {}))
        return NOTHING

    def _reply(self, owner: int | str | None, usage: Mapping[str, Any]) -> Spending:
        spent = spent_on_reply(usage)
        if owner is None or not spent.replies:
            return spent
        self._replied[owner] = usage
        if owner not in self._priced:
            return spent
        return Spending(tokens=spent.tokens, replies=spent.replies, uncounted=spent.uncounted)

    def _price(self, owner: int | str, cost: object) -> Spending:
        if (price := money(told_cost(cost))) is None:
            return NOTHING
        self._priced.add(owner)
        before = spent_on_reply(self._replied.get(owner, {}))
        return Spending(cost=price - before.cost, unpriced=-before.unpriced)


def told_count(value: object) -> int | None:
    """A count of tokens as a service told it; None if it told none that can be true."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def told_cost(value: object) -> float | None:
    """US dollars as they were told; None if that can be no cost."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_USD else None


def money(value: object) -> Decimal | None:
    """US dollars as the decimal that was written, so that sums are exact; None if unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def seconds_of(payload: Mapping[str, Any]) -> float:
    """What a journalled measurement took; 0 if it was written before that was kept."""
    return float(payload.get("seconds", 0.0))


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list | tuple) else None


def _some_of(replies: int, told: int | None) -> int:
    """How many of the replies are meant: those that were told, else all."""
    return min(told, replies) if told else replies
