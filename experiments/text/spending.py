"""What was spent, in words: money to the cent, tokens, seconds; what is not known is said so."""

from __future__ import annotations

from decimal import Decimal

from mcts.journal.spending import Spending
from mcts.loop.budget import Budget

UNKNOWN = "unknown"


def money_text(amount: Decimal) -> str:
    """``1.23 USD``, and ``0.0123 USD`` where cents would hide most of it."""
    if amount == 0 or amount >= 1:
        return f"{amount:,.2f} USD"
    return f"{amount:.4f} USD" if amount >= Decimal("0.0001") else "under 0.0001 USD"


def cost_text(spending: Spending) -> str:
    """What the replies cost; empty if nobody was asked."""
    if spending.replies == 0:
        return ""
    if spending.unpriced == 0:
        return money_text(spending.cost)
    if spending.unpriced == spending.replies and spending.cost == 0:
        return f"{UNKNOWN} cost"
    some = _of(spending.unpriced, spending.replies)
    return f"{money_text(spending.cost)}, and the {UNKNOWN} cost of {some}"


def tokens_text(spending: Spending) -> str:
    """What the model has read and written; empty if nobody was asked."""
    if spending.replies == 0:
        return ""
    if spending.uncounted == 0:
        return f"{spending.tokens:,} tokens"
    if spending.tokens == 0:
        return f"{UNKNOWN} tokens"
    some = _of(spending.uncounted, spending.replies)
    return f"at least {spending.tokens:,} tokens ({some} did not say)"


def judging_text(spending: Spending, *, replayed: bool) -> str:
    """The seconds that candidates were judged; empty for a replay, which uses no GPU."""
    if replayed:
        return ""
    if spending.gpu_s == 0:
        return f"{UNKNOWN} GPU time"  # written before that was kept: judging takes more than none
    return f"{spending.gpu_s:,.1f} s of GPU"


def spending_text(spending: Spending, *, replayed: bool) -> str:
    """All three in a row; empty if a replay asked nobody."""
    parts = (
        cost_text(spending),
        tokens_text(spending),
        judging_text(spending, replayed=replayed),
    )
    return ", ".join(part for part in parts if part)


def caps_text(caps: Budget) -> str:
    """The caps of a run on what is spent; empty if it has none."""
    parts = []
    if caps.cost_usd is not None:
        parts.append(f"{caps.cost_usd:g} USD")
    if caps.tokens is not None:
        parts.append(f"{caps.tokens:,} tokens")
    if caps.gpu_minutes is not None:
        parts.append(f"{caps.gpu_minutes * 60:,.0f} s of GPU")
    return ", ".join(parts)


def _of(some: int, all_: int) -> str:
    return f"{some} of {all_} repl{'y' if all_ == 1 else 'ies'}"
