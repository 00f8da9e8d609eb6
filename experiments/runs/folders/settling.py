"""Prices given after a run, applied to the unpriced replies in its journal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from experiments.runs.folders.journal import DATABASE, SqliteJournal
from mcts.journal.pricing import Pricing
from mcts.journal.runlog import RunLog
from mcts.journal.spending import Spending


def settle(run_dir: Path, prices: Sequence[str]) -> Spending:
    """Price what has no price in the run's journal; returns what that adds to its sum.

    `prices` are ``MODEL=IN,OUT`` options. InputError if one is not, or another process holds
    the run.
    """
    from codegen.chat.prices import parse_prices, price_of

    given = parse_prices(prices)
    with SqliteJournal(run_dir / DATABASE) as journal:
        return Pricing(RunLog(journal), partial(price_of, prices=given)).settle()
