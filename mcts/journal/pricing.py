"""Prices that become known after a reply was journalled, each laid on it by a record of its own.

So a run that asked a model of unknown price is priced later: its trials and what was removed for
attribution alike, each reply once and by the first price that was known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcts.journal.runlog import RunLog
from mcts.journal.spending import NOTHING, PRICES, REPLIES, Spending, spent_on_reply

Pricer = Callable[[Mapping[str, Any]], float | None]
"""US dollars for a reply with this usage; None if unknown (see `mcts.ports.Proposer.price`)."""


class Pricing:
    """What replies of a journal cost; `price` says so if the journal does not.

    A reply is named by its trial, or by the `key` of the ablation that it was for.
    """

    def __init__(self, log: RunLog, price: Pricer) -> None:
        self._log, self._price = log, price

    def settle(self) -> Spending:
        """Price whatever in the journal has no price; returns what that adds to the run's sum."""
        added = NOTHING
        for owner, usage in self._replies(REPLIES):
            if self._found(owner) is None:
                added += spent_on_reply(self.priced(owner, usage)) - spent_on_reply(usage)
        return added

    def usages(self, kinds: Iterable[str] = tuple(REPLIES)) -> Iterator[Mapping[str, Any]]:
        """The usage of every reply in events of these kinds, with what its price is by now."""
        for owner, usage in self._replies(kinds):
            yield self.priced(owner, usage)

    def priced(self, owner: int | str, usage: Mapping[str, Any]) -> Mapping[str, Any]:
        """`usage` with a price that became known only after the reply; asked for at most once."""
        if not spent_on_reply(usage).unpriced:
            return usage
        found = self._found(owner)
        if found is None:
            if (price := self._price(usage)) is None:
                return usage
            kind = _record_of(owner)
            found = {PRICES[kind]: owner, "cost_usd": price}
            self._log.write(kind, found)
        return {**usage, "cost_usd": found["cost_usd"]}

    def model_of(self, usage: Mapping[str, Any]) -> str:
        """Who is to be given a price; of several models the first one that has none still."""
        if not spent_on_reply(usage).unpriced:
            return str(usage.get("model", "MODEL"))
        replies: Sequence[Mapping[str, Any]] = usage.get("unpriced") or [usage]
        lacking = next((one for one in replies if self._price(one) is None), usage)
        return str(lacking.get("model", "MODEL"))

    def _replies(self, kinds: Iterable[str]) -> Iterator[tuple[int | str, Mapping[str, Any]]]:
        for kind in kinds:
            for payload in self._log.payloads(kind):
                yield payload[REPLIES[kind]], payload.get("usage") or {}

    def _found(self, owner: int | str) -> Mapping[str, Any] | None:
        return self._log.find(_record_of(owner), owner)


def _record_of(owner: int | str) -> str:
    return "priced" if isinstance(owner, int) else "removal_priced"
