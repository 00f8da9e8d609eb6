"""What a proposal cost: sums over its calls, as far as the services told.

The calls of unknown cost are listed, so that a price that becomes known later can be applied to
each by its own model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from codegen.chat.messages import Reply


@dataclass(slots=True)
class ProposalUsage:
    """Replies of one proposal in their order, and the seconds they took in all."""

    prompt: str
    dropped: dict[str, int]
    replies: list[Reply] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, reply: Reply, seconds: float) -> None:
        self.replies.append(reply)
        self.seconds += seconds

    def usage(self) -> dict[str, Any]:
        """JSON-safe, for the journal. Tokens and cost are None unless all calls told theirs; the
        sums over those that did are then in `priced_usd` and `counted_tokens`.

        `prompt` is role and version of the template, `dropped` counts by kind what did not fit into
        it, `replies` how many were asked for, `attempts` how many requests that took, `faults` why
        some of them brought no reply.
        """
        replies = self.replies
        told: dict[str, Any] = {
            "prompt": self.prompt,
            "dropped": dict(self.dropped),
            "model": replies[-1].model if replies else None,
            "prompt_tokens": _sum([reply.prompt_tokens for reply in replies]),
            "completion_tokens": _sum([reply.completion_tokens for reply in replies]),
            "cost_usd": _cost([reply.cost_usd for reply in replies]),
            "seconds": round(self.seconds, 3),
            "replies": len(replies),
            "attempts": sum(reply.attempts for reply in replies),
        }
        return told | {name: value for name, value in self._details().items() if value}

    def _details(self) -> dict[str, Any]:
        """Entries that are left out if they are empty."""
        replies = self.replies
        asked = dict.fromkeys(reply.asked for reply in replies if reply.asked)
        before = [reply.original_cost_usd for reply in replies if reply.cached]
        models = list(dict.fromkeys(reply.model for reply in replies))
        return {
            "models": models if len(models) > 1 else [],
            "faults": [fault for reply in replies for fault in reply.faults],
            "asked": ", ".join(name for name in asked if name.rpartition("/")[2] != self._model()),
            "reasoning_tokens": _sum([reply.reasoning_tokens for reply in replies]),
            "cached_prompt_tokens": _sum([reply.cached_prompt_tokens for reply in replies]),
            "cached": bool(replies) and all(reply.cached for reply in replies),
            "original_cost_usd": _cost(before),
            "unpriced": self._unpriced(),
            "priced_usd": self._priced_usd(),
            **self._counted(),
        }

    def _unpriced(self) -> list[dict[str, Any]]:
        """The replies of unknown cost, for `codegen.chat.prices.price_of`; empty for a single
        reply, whose usage says it all."""
        if len(self.replies) < 2:
            return []
        return [
            {
                "model": reply.model,
                "asked": reply.asked,
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
            }
            for reply in self.replies
            if reply.cost_usd is None
        ]

    def _priced_usd(self) -> float | None:
        """What the priced replies cost, if some are unpriced."""
        known = [reply.cost_usd for reply in self.replies if reply.cost_usd is not None]
        return _cost(known) if len(known) < len(self.replies) else None

    def _counted(self) -> dict[str, int]:
        """How many of several replies did not tell all their tokens, and the tokens told."""
        told = [(reply.prompt_tokens, reply.completion_tokens) for reply in self.replies]
        silent = sum(None in each for each in told)
        if silent == 0 or len(told) < 2:
            return {}
        tokens = sum(count for each in told for count in each if count is not None)
        return {"uncounted": silent, "counted_tokens": tokens}

    def _model(self) -> str:
        return self.replies[-1].model


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _cost(costs: Sequence[float | None]) -> float | None:
    """Exact to the last decimal; None if one is unknown."""
    known = [Decimal(str(cost)) for cost in costs if cost is not None]
    return float(sum(known)) if known and len(known) == len(costs) else None
