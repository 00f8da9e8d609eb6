"""Prices that are given once problems are done: their replies get them, and the table with them."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.suite.concluding import Say, spent_in
from experiments.benchmarks.suite.folder import Plan, SuiteFolder
from experiments.runs.folders.settling import settle
from experiments.text.spending import money_text


def reprice(folder: SuiteFolder, plan: Plan, prices: Sequence[str], *, say: Say) -> None:
    """Lay `prices` (``MODEL=IN,OUT``) on the replies of problems whose cost is not wholly known.

    InputError for a price that is none.
    """
    if not prices:
        return
    for chosen in plan.problems:
        outcome = folder.outcome(chosen.key)
        if outcome is None or not outcome.spent.unpriced:
            continue
        run_dir = folder.run(chosen.key)
        added = settle(run_dir, prices)
        if not added.unpriced:
            continue
        folder.keep(outcome.model_copy(update={"spent": spent_in(run_dir)}))
        many = f"{-added.unpriced} earlier repl{'y' if added.unpriced == -1 else 'ies'}"
        say(f"{chosen.name}: priced {many} at {money_text(added.cost)}")
