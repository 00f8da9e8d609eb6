"""What a run costs: money and tokens of models, seconds of judging. Sums are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

_SIGNS_OF_A_CALL = ("model", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A sum over replies and measurements.

    cost: US dollars, of the `replies` whose cost is known; `unpriced` counts the others.
    tokens: of prompts and completions; `uncounted` replies did not say them all.
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

    @property
    def cost_usd(self) -> float:
        """The known cost as a number for display and JSON; sum `cost`, not this."""
        return float(self.cost)


NOTHING = Spending()


def spent_on_reply(usage: Mapping[str, Any]) -> Spending:
    """What a journalled usage says a reply cost.

    A usage that names no model, tokens or cost is that of a proposer that asks nobody: free.
    """
    if not any(name in usage for name in _SIGNS_OF_A_CALL):
        return NOTHING
    cost = money(usage.get("cost_usd"))
    counts = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    return Spending(
        cost=cost or Decimal(0),
        tokens=sum(count or 0 for count in counts),
        replies=1,
        unpriced=cost is None,
        uncounted=None in counts,
    )


def money(value: object) -> Decimal | None:
    """US dollars as the decimal that was written, so that sums are exact; None where unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def seconds_of(payload: Mapping[str, Any]) -> float:
    """What a journalled measurement took; 0 where it was written before that was kept."""
    return float(payload.get("seconds", 0.0))


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole and isinstance(value, int) else None
