"""A price that becomes known later: laid on trials and on ablations alike, once, to the cent."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from experiments.views.report.account import account_rows
from experiments.views.report.progress import progress_of
from mcts.errors import InputError, JournalError, WorldError
from mcts.journal.record import Result
from mcts.journal.runlog import RunLog
from mcts.loop.optimizer import Budget, read_result
from mcts.ports import Event
from mcts.testing.toy import Killed, MemoryJournal
from tests.mcts.journal.paid import (
    CENTS,
    LATER,
    TOKENS,
    Broken,
    KnowsPrices,
    PaidToy,
    PricedToy,
    Rewriter,
    attributor,
    best_path,
    optimizer,
    usage,
)

KNOWN, DIME = Decimal(str(CENTS)), Decimal(str(LATER))


class PricedRewriter(KnowsPrices, Rewriter):
    """One whose replies say no cost, but who can say it later."""

    def __init__(self) -> None:
        super().__init__(cost=None)


def unpriced(*errors: Exception) -> Broken:
    return Broken(*errors, cost=None)


def weighed(*errors: type[Exception]) -> tuple[MemoryJournal, Result, int]:
    """A run whose trials had a price, whose ablations had none, and how many ablations replied.

    Each of `errors` ended one that was asked anew.
    """
    journal, ablator = MemoryJournal(), unpriced(*(error("cut off", usage=usage(None))
                                                   for error in errors))  # fmt: skip
    result = optimizer(journal, PaidToy(), evaluations=40).run()
    for error in errors:
        with pytest.raises(error):
            best_path(attributor(journal, ablator=ablator), result)
    best_path(attributor(journal, ablator=ablator), result)
    return journal, result, len(ablator.asked) + len(errors)


def kinds(journal: MemoryJournal) -> Counter[str]:
    return Counter(event.kind for event in journal.events())


def rest_of(journal: MemoryJournal, before: Result) -> tuple[Decimal, int]:
    """What was spent beyond the search: its cost, and replies whose cost is not known."""
    spent = read_result(journal.events()).spending
    return spent.cost - before.spending.cost, spent.unpriced


def test_without_a_price_a_removal_is_of_unknown_cost() -> None:
    journal, result, asked = weighed(WorldError)
    assert asked > 2 and rest_of(journal, result) == (0, asked)
    best_path(attributor(journal, ablator=unpriced()), result)
    optimizer(journal, PaidToy(), evaluations=40).run()
    assert rest_of(journal, result) == (0, asked) and "removal_priced" not in kinds(journal)


@pytest.mark.parametrize("again", ["attribute", "resume"])
def test_a_price_given_later_is_laid_on_each_removal_once(again: str) -> None:
    journal, result, asked = weighed(WorldError, InputError)
    for _ in range(2):
        if again == "attribute":
            ablator = PricedRewriter()
            best_path(attributor(journal, ablator=ablator), read_result(journal.events()))
            assert ablator.asked == []
        else:
            optimizer(journal, PricedToy(), evaluations=40).run()
        assert rest_of(journal, result) == (asked * DIME, 0)
        assert kinds(journal)["removal_priced"] == asked
    after = read_result(journal.events())
    assert after.spending == replace(after.spending, tokens=result.spending.tokens + asked * TOKENS)
    assert after.tree_digest == result.tree_digest
    rows = account_rows(after)
    assert Decimal(rows[-1]["cost_usd"]) == after.spending.cost
    assert sum(Decimal(row["cost_usd"]) for row in rows[:-1]) == after.spending.cost
    assert "unknown" not in "".join(row["cost"] for row in rows)
    assert len(progress_of(journal.events())) == len(after.nodes)


def test_the_course_of_a_run_that_goes_on_holds_the_price_of_its_removals() -> None:
    journal, result, asked = weighed()
    after = optimizer(journal, PricedToy(), evaluations=60).run()
    more = after.spending.replies - result.spending.replies
    assert more > asked and after.spending.unpriced == 0
    assert after.spending.cost == result.spending.cost + more * DIME
    assert progress_of(journal.events())[-1].cost_usd == after.spending.cost_usd


def test_what_removals_cost_by_a_later_price_counts_for_the_cap() -> None:
    journal, result, asked = weighed()
    cap = float(result.spending.cost + asked * DIME)
    reached = optimizer(journal, PricedToy(), evaluations=60, caps={"cost_usd": cap}).run()
    assert reached.stop_reason == "money spent" and reached.evaluations == 40
    more = optimizer(journal, PricedToy(), evaluations=60, caps={"cost_usd": cap + 0.001}).run()
    assert more.stop_reason == "money spent" and more.evaluations == 41
    assert more.spending.cost == Decimal(str(cap)) + DIME


def test_the_cap_of_an_attribution_counts_it_too() -> None:
    journal, result, asked = weighed()
    budget = Budget(evaluations=40, cost_usd=float(result.spending.cost + asked * DIME))
    ablator, stale = PricedRewriter(), read_result(journal.events())
    attributor(journal, ablator=ablator, budget=budget).nodes(stale, stale.nodes)
    assert ablator.asked == []
    assert budget.exhausted(read_result(journal.events()).spending) == "money spent"


def test_a_cap_that_unpriced_removals_make_impossible_is_an_error() -> None:
    journal, _, _ = weighed()
    for _ in range(2):
        toy = PaidToy()
        with pytest.raises(InputError, match=r"cannot be kept.*--price toy-1=IN,OUT"):
            optimizer(journal, toy, evaluations=60, caps={"cost_usd": 9.0}).run()
        assert toy.asked == [] and list(journal.events())[-1].kind == "stopped"
    budget, result = Budget(evaluations=40, cost_usd=9.0), read_result(journal.events())
    ablator = unpriced()
    with pytest.raises(InputError, match="--price toy-1=IN,OUT"):
        attributor(journal, ablator=ablator, budget=budget).nodes(result, result.nodes)
    assert ablator.asked == [], "it was known before a further reply was paid for"


def test_a_price_known_when_the_removal_is_made_keeps_the_cap_at_once() -> None:
    journal, ablator = MemoryJournal(), PricedRewriter()
    result = optimizer(journal, PaidToy(), evaluations=40).run()
    budget = Budget(evaluations=40, cost_usd=float(result.spending.cost + DIME))
    assert len(best_path(attributor(journal, ablator=ablator, budget=budget), result)) == 1
    assert len(ablator.asked) == 1 and rest_of(journal, result) == (DIME, 0)


def test_an_attribution_prices_the_trials_as_well() -> None:
    journal = MemoryJournal()
    toy = PaidToy(cost=None, rejects=4, breaks=9)
    result = optimizer(journal, toy, evaluations=20).run()
    assert result.spending.unpriced == len(toy.asked) > 20
    ablator = PricedRewriter()
    best_path(attributor(journal, ablator=ablator), result)
    after = read_result(journal.events()).spending
    assert after.unpriced == 0 and after.cost == (len(toy.asked) + len(ablator.asked)) * DIME
    again = optimizer(journal, PricedToy(rejects=4, breaks=9), evaluations=20).run()
    assert again.spending == after and again.tree_digest == result.tree_digest


def test_killed_anywhere_while_prices_are_written_it_ends_at_the_same_sum() -> None:
    whole, result, asked = weighed(WorldError)
    start = tuple(whole.events())

    def go_on(journal: MemoryJournal) -> Any:
        return optimizer(journal, PricedToy(), evaluations=40).run()

    expected = go_on(whole).spending
    assert expected.cost == result.spending.cost + asked * DIME
    for kill_after in range(asked + 2):
        journal = MemoryJournal(start, kill_after=kill_after)
        with pytest.raises(Killed):
            go_on(journal)
        between = read_result(journal.events()).spending
        written = kinds(journal)["removal_priced"]
        assert (between.cost, between.unpriced) == (
            result.spending.cost + written * DIME,
            asked - written,
        )
        journal = MemoryJournal(tuple(journal.events()))
        assert go_on(journal).spending == expected
        assert kinds(journal)["removal_priced"] == asked


@pytest.mark.parametrize("missing", ["key", "cost_usd"])
def test_a_damaged_record_of_a_price_is_no_silent_zero(missing: str) -> None:
    journal, _, _ = weighed()
    payload = {"key": "1:toy.tile", "cost_usd": LATER}
    del payload[missing]
    events = (*journal.events(), Event(999, "removal_priced", payload))
    with pytest.raises(JournalError, match="damaged"):
        if missing == "key":
            RunLog(MemoryJournal(events))
        else:
            read_result(events)
