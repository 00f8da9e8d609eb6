"""Prices given after a run, applied to the unpriced replies in its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.runs.folders.journal import DATABASE, SqliteJournal
from mcts.journal.pricing import Pricing
from mcts.journal.runlog import RunLog
from mcts.journal.spending import Spending

if TYPE_CHECKING:
    from codegen.chat.prices import Price


@dataclass(frozen=True, slots=True)
class _GivenPrices:
    """A Pricer that knows only the user's prices."""

    prices: Mapping[str, Price]

    def price(self, usage: Mapping[str, Any]) -> float | None:
        from codegen.chat.prices import price_of

        return price_of(usage, self.prices)


def settle(run_dir: Path, prices: Sequence[str]) -> Spending:
    """Price what has no price in the run's journal; returns what that adds to its sum.

    `prices` are ``MODEL=IN,OUT`` options. InputError if one is not, or another process holds
    the run.
    """
    from codegen.chat.prices import parse_prices

    given = _GivenPrices(parse_prices(prices))
    with SqliteJournal(run_dir / DATABASE) as journal:
        return Pricing(RunLog(journal), given).settle()
