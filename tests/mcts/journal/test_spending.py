"""Money, tokens and GPU time: exact sums, hard caps, clean stops that can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from experiments.views.report.progress import progress_of
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.journal.spending import NOTHING, Spending, money, spent_on_reply
from mcts.loop.optimizer import Budget, Progress, read_result
from mcts.loop.stopwatch import SharedStopwatch
from mcts.ports import Proposal, ProposalRequest
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator, ToyProposer
from tests.mcts.journal.paid import CENTS, TOKENS, PaidToy, PricedToy, optimizer, usage
from tests.mcts.loop.finals import ConfirmingToy


def replies(journal: MemoryJournal) -> list[dict[str, Any]]:
    """Every usage that the journal holds, collected from its events."""
    return [
        dict(event.payload["usage"]) for event in journal.events() if event.payload.get("usage")
    ]


def seconds(journal: MemoryJournal) -> float:
    """What judging and profiling took; what proposers take is of the machine's own clock."""
    return sum(
        float(event.payload.get("seconds", 0.0))
        for event in journal.events()
        if event.kind not in {"proposed", "no_moves", "rejected"}
    )


def test_ten_cents_ten_thousand_times_are_a_thousand_dollars() -> None:
    total = NOTHING
    for _ in range(10_000):
        total += spent_on_reply(usage(0.1))
    assert total.cost == Decimal("1000.0") and total.cost_usd == 1000.0
    assert total.tokens == TOKENS * 10_000 and total.replies == 10_000


@given(st.lists(st.integers(0, 10**9), max_size=50))
def test_a_sum_of_micro_dollars_is_exact_in_any_order(micros: list[int]) -> None:
    total = sum((spent_on_reply(usage(m / 1e6)) for m in micros), NOTHING)
    assert total.cost == Decimal(sum(micros)) / 10**6


@pytest.mark.parametrize("value", [None, "much", float("nan"), float("inf"), -1, True, [1]])
def test_an_invalid_price_is_unknown_and_never_free(value: object) -> None:
    assert money(value) is None
    spent = spent_on_reply({**usage(), "cost_usd": value})
    assert spent.unpriced == 1 and spent.cost == 0 and spent.tokens == TOKENS


def test_no_model_costs_nothing_and_a_reply_without_tokens_is_uncounted() -> None:
    assert spent_on_reply({}) == spent_on_reply({"seconds": 3.0}) == NOTHING
    assert spent_on_reply({"model": "local", "cost_usd": 0.0}).uncounted == 1


@pytest.mark.parametrize("name", ["cost_usd", "tokens", "gpu_minutes"])
@pytest.mark.parametrize("cap", [0, -1, float("nan")])
def test_a_cap_of_nothing_is_refused(name: str, cap: float) -> None:
    with pytest.raises(ValidationError, match=name):
        optimizer(MemoryJournal(), caps={name: cap})


def test_a_reached_cap_stops_cleanly_and_its_overshoot_is_what_was_in_flight() -> None:
    cap = 10 * CENTS - 0.001
    for parallel in (1, 4):
        journal = MemoryJournal()
        result = optimizer(journal, caps={"cost_usd": cap}, parallel=parallel).run()
        assert result.stop_reason == "money spent"
        assert result.evaluations == 10 + parallel - 1
        assert result.spending.cost == Decimal(str(CENTS)) * len(replies(journal))
        assert result.spending.replies == 10 + parallel - 1
    tokens = optimizer(MemoryJournal(), caps={"tokens": 5 * TOKENS}).run()
    assert tokens.stop_reason == "tokens spent" and tokens.spending.tokens == 5 * TOKENS


def test_rejected_broken_and_empty_replies_cost_as_well() -> None:
    journal, toy = MemoryJournal(), PaidToy(rejects=4, breaks=9)
    result = optimizer(journal, toy, evaluations=60).run()
    kinds = [event.kind for event in journal.events()]
    assert kinds.count("rejected") > 5 and kinds.count("abandoned") > 2
    assert result.spending.replies == len(toy.asked) == len(replies(journal))
    assert result.spending.cost == Decimal(str(CENTS)) * len(toy.asked)
    by_node = sum((node.spending for node in result.nodes), NOTHING)
    lost = kinds.count("abandoned") + kinds.count("no_moves")
    assert by_node.cost == Decimal(str(CENTS)) * (len(toy.asked) - lost)


@pytest.mark.parametrize("inline", [False, True])
def test_replies_before_a_user_error_in_a_trial_are_paid(inline: bool) -> None:
    journal, toy = MemoryJournal(), PaidToy(mends=frozenset({4, 7}), inline=inline)
    for sessions in (1, 2):
        with pytest.raises(InputError, match="the key is refused"):
            optimizer(journal, toy).run()
        assert read_result(journal.events()).spending.replies == len(toy.asked)
        assert [event.kind for event in journal.events()].count("abandoned") == sessions
    lines: list[Progress] = []
    result = optimizer(journal, toy, on_progress=lines.append).run()
    assert result.stop_reason == "evaluations spent" and result.evaluations == 25
    assert result.spending.cost == Decimal(str(CENTS)) * len(toy.asked)
    assert lines[-1].spending.cost == result.spending.cost


def test_a_user_error_before_any_reply_leaves_the_trial_to_be_asked_again() -> None:
    class Keyless(PaidToy):
        def propose(self, request: ProposalRequest) -> Proposal:
            raise InputError("there is no key")

    journal = MemoryJournal()
    with pytest.raises(InputError, match="no key"):
        optimizer(journal, Keyless()).run()
    result = optimizer(journal, PaidToy()).run()
    assert "abandoned" not in [event.kind for event in journal.events()]
    assert result.tree_digest == optimizer(MemoryJournal(), PaidToy()).run().tree_digest


def test_of_several_models_the_one_without_a_price_is_named() -> None:
    class Mixed(PricedToy):
        def propose(self, request: ProposalRequest) -> Proposal:
            replies = [{"model": name, "prompt_tokens": 1} for name in ("known", "other")]
            said = usage(None) | {"unpriced": replies}
            return replace(super().propose(request), usage=said)

        def price(self, usage: Mapping[str, Any]) -> float | None:
            return 0.5 if usage["model"] == "known" else None

    with pytest.raises(InputError, match="--price other=IN,OUT"):
        optimizer(MemoryJournal(), Mixed(), caps={"cost_usd": 1.0}).run()


KNOWN = 0.25


def mixed(**changes: Any) -> dict[str, Any]:
    """A proposal of three replies: one cost `KNOWN`, two are of models without a price."""
    one = {"model": "other", "prompt_tokens": 1000, "completion_tokens": 100}
    told = {"replies": 3, "unpriced": [one, one], "priced_usd": KNOWN}
    return usage(None) | told | changes


def test_the_known_part_of_mixed_replies_is_in_the_sum() -> None:
    spent = spent_on_reply(mixed())
    assert (spent.cost, spent.replies, spent.unpriced) == (Decimal(str(KNOWN)), 3, 2)
    assert spent_on_reply(usage(0.5) | {"replies": 3}).unpriced == 0
    silent = spent_on_reply(
        mixed(prompt_tokens=None, completion_tokens=None, counted_tokens=70, uncounted=2)
    )
    assert (silent.tokens, silent.uncounted) == (70, 2)


@pytest.mark.parametrize(
    ("changes", "unpriced", "cost"),
    [
        ({"unpriced": "many", "priced_usd": "much"}, 3, Decimal(0)),
        ({"unpriced": [{}] * 9}, 3, Decimal(str(KNOWN))),
        ({"unpriced": []}, 3, Decimal(str(KNOWN))),
        ({"replies": True}, 1, Decimal(str(KNOWN))),
    ],
)
def test_an_odd_usage_is_never_free(changes: Any, unpriced: int, cost: Decimal) -> None:
    spent = spent_on_reply(mixed(**changes))
    assert spent.unpriced == unpriced and spent.cost == cost


class MixedToy(PaidToy):
    """Every proposal is of priced and unpriced replies."""

    def propose(self, request: ProposalRequest) -> Proposal:
        try:
            return replace(super().propose(request), usage=mixed())
        except (ProposalRejected, WorldError) as error:
            raise type(error)(str(error), usage=mixed()) from None


class PricedMixedToy(MixedToy):
    """It knows the price of the others later: a dime each, on top of what is known."""

    def price(self, usage: Mapping[str, Any]) -> float | None:
        return KNOWN + 0.1 * len(usage["unpriced"]) if "unpriced" in usage else None


def test_a_price_found_later_adds_what_was_not_counted_yet() -> None:
    """Also where the journal has it before the reply, as of a trial that the world failed."""
    journal = MemoryJournal()
    toys: dict[str, Any] = {"rejects": 4, "breaks": 9}
    optimizer(journal, MixedToy(**toys), evaluations=10).run()
    before = read_result(journal.events()).spending
    asked = len(replies(journal))
    assert before.cost == asked * Decimal(str(KNOWN)) and before.unpriced == 2 * asked
    assert progress_of(journal.events())[-1].cost_usd == before.cost_usd
    lines: list[Progress] = []
    toy = PricedMixedToy(**toys)
    after = optimizer(journal, toy, evaluations=30, on_progress=lines.append).run()
    kinds = [event.kind for event in journal.events()]
    assert kinds.count("abandoned") > 1 and kinds.count("priced") == len(replies(journal))
    first = {e.payload["trial"]: e.kind for e in reversed(list(journal.events()))
             if e.kind in ("priced", "abandoned")}  # fmt: skip
    assert "priced" in {first[e.payload["trial"]] for e in journal.events()
                        if e.kind == "abandoned"}  # fmt: skip
    assert after.spending.cost == len(replies(journal)) * Decimal("0.45")
    assert after.spending.unpriced == 0
    assert after.spending.replies == 3 * len(replies(journal))
    assert lines[-1].spending.cost == after.spending.cost
    assert progress_of(journal.events())[-1].cost_usd == after.spending.cost_usd


def test_a_cap_counts_the_known_part_of_mixed_replies() -> None:
    journal = MemoryJournal()
    result = optimizer(journal, MixedToy(), evaluations=5).run()
    cap = Budget(evaluations=60, cost_usd=5 * KNOWN)
    assert cap.exhausted(result.spending) == "money spent"
    priced = optimizer(journal, PricedMixedToy(), caps={"cost_usd": 10 * 0.45 - 0.01}).run()
    assert priced.stop_reason == "money spent" and priced.evaluations == 10


def test_progress_ends_at_the_sums_of_the_result() -> None:
    lines: list[Progress] = []
    toy = PaidToy(rejects=4, breaks=9, branches=2)
    result = optimizer(MemoryJournal(), toy, parallel=3, on_progress=lines.append).run()
    last = lines[-1].spending
    assert last.cost == result.spending.cost and last.tokens == result.spending.tokens
    assert lines[-1].caps == Budget(evaluations=25)


class SlowClock(ToyEvaluator):
    """Every measurement takes ten seconds by its clock."""

    def __init__(self, optimizer_clock: list[float], **options: Any) -> None:
        super().__init__(**options)
        self.clock = optimizer_clock

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.clock[0] += 10.0
        return super().evaluate(candidate)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replaces the stopwatch's clock."""
    now = [0.0]

    def with_clock(devices: int = 1) -> SharedStopwatch:
        return SharedStopwatch(devices, clock=lambda: now[0])

    monkeypatch.setattr("mcts.loop.bench.SharedStopwatch", with_clock)
    return now


def test_gpu_time_is_capped_and_adds_up_over_a_resume(clock: list[float]) -> None:
    journal = MemoryJournal()
    first = optimizer(
        journal, ToyProposer(), SlowClock(clock), caps={"gpu_minutes": 1.0}, evaluations=60
    ).run()
    assert first.stop_reason == "GPU time spent"
    assert first.unique + 1 == 6 and first.spending.gpu_s == seconds(journal) == 60.0
    more = optimizer(
        journal, ToyProposer(), SlowClock(clock), caps={"gpu_minutes": 2.0}, evaluations=60
    ).run()
    assert more.unique + 1 == 12 and more.spending.gpu_s == seconds(journal) == 120.0
    assert more.nodes[0].spending.gpu_s == 10.0


def test_a_measurement_that_broke_the_world_took_its_time_too(clock: list[float]) -> None:
    journal = MemoryJournal()
    toy = SlowClock(clock, fail_world_at=frozenset({3}))
    result = optimizer(journal, ToyProposer(), toy, evaluations=5).run()
    assert result.spending.gpu_s == seconds(journal) == 70.0
    assert sum(node.spending.gpu_s for node in result.nodes) == 60.0


class SlowConfirming(SlowClock, ConfirmingToy):
    def __init__(self, clock: list[float]) -> None:
        ConfirmingToy.__init__(self)
        self.clock = clock


def test_finalists_are_measured_beyond_the_cap_but_count_for_what_comes_after(
    clock: list[float],
) -> None:
    journal, caps = MemoryJournal(), {"gpu_minutes": 2.0}
    first = optimizer(journal, ToyProposer(), SlowConfirming(clock), evaluations=11, caps=caps)
    result = first.run()
    assert result.stop_reason == "evaluations spent" and result.confirmed
    assert result.spending.gpu_s >= 120.0
    again = optimizer(journal, ToyProposer(), SlowConfirming(clock), evaluations=30, caps=caps)
    resumed = again.run()
    assert resumed.stop_reason == "GPU time spent" and resumed.evaluations == 11
    assert resumed.best == result.best and resumed.spending == result.spending


def test_a_cap_that_cannot_be_kept_is_an_error_at_the_first_reply_of_unknown_cost() -> None:
    journal, toy = MemoryJournal(), PaidToy(cost=None)
    with pytest.raises(InputError, match=r"cannot be kept.*--price toy-1=IN,OUT"):
        optimizer(journal, toy, caps={"cost_usd": 1.0}).run()
    assert len(toy.asked) == 1
    with pytest.raises(InputError, match="--price"):
        optimizer(journal, toy, caps={"cost_usd": 1.0}).run()
    assert len(toy.asked) == 1, "not asked again until it is mended"
    result = optimizer(journal, toy).run()
    assert result.stop_reason == "evaluations spent"
    assert result.spending.unpriced == len(toy.asked) and result.spending.cost == 0


def test_a_model_that_counts_no_tokens_cannot_be_capped_by_them() -> None:
    class Silent(PaidToy):
        def propose(self, request: Any) -> Any:
            proposal = super().propose(request)
            return replace(proposal, usage={"model": "toy-1", "cost_usd": 0.1})

    with pytest.raises(InputError, match="toy-1 did not say how many"):
        optimizer(MemoryJournal(), Silent(), caps={"tokens": 1000}).run()


def test_a_price_given_on_resume_also_prices_earlier_replies() -> None:
    journal, caps = MemoryJournal(), {"cost_usd": 0.0999}
    with pytest.raises(InputError):
        optimizer(journal, PaidToy(cost=None), caps=caps).run()
    result = optimizer(journal, PricedToy(), caps=caps).run()
    assert result.stop_reason == "money spent"
    assert result.spending == Spending(
        cost=Decimal("0.10"), tokens=10 * TOKENS, replies=10, gpu_s=result.spending.gpu_s
    )
    again = optimizer(journal, PricedToy(), caps=caps).run()
    assert again.spending == result.spending


@settings(max_examples=30, deadline=None)
@given(
    kills=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    parallel=st.sampled_from([1, 3]),
    seed=st.integers(0, 50),
    cap=st.sampled_from(["cost_usd", "tokens"]),
)
def test_a_capped_run_killed_anywhere_ends_where_an_uninterrupted_one_does(
    kills: list[int], parallel: int, seed: int, cap: str
) -> None:
    caps = {cap: {"cost_usd": 12 * CENTS, "tokens": 12 * TOKENS}[cap]}

    def build(journal: MemoryJournal, toy: PaidToy) -> Any:
        return optimizer(journal, toy, caps=caps, seed=seed, parallel=parallel)

    def toy() -> PaidToy:
        return PaidToy(rejects=5, branches=2)

    expected = build(MemoryJournal(), toy()).run()
    journal = MemoryJournal()
    for kill_after in kills:
        journal = MemoryJournal(tuple(journal.events()), kill_after=kill_after)
        try:
            build(journal, toy()).run()
        except Killed:
            continue
    journal = MemoryJournal(tuple(journal.events()))
    result = build(journal, toy()).run()
    assert result.tree_digest == expected.tree_digest
    assert result.stop_reason == expected.stop_reason
    assert result.spending.cost == expected.spending.cost
    assert result.spending.tokens == expected.spending.tokens


def test_a_world_that_stays_broken_has_still_been_paid() -> None:
    journal = MemoryJournal()
    with pytest.raises(WorldError, match="cut off"):
        optimizer(journal, PaidToy(breaks=1)).run()
    assert read_result(journal.events()).spending.cost == 3 * Decimal(str(CENTS))


def test_moments_are_charged_once_per_device() -> None:
    now = [0.0]
    watch = SharedStopwatch(2, clock=lambda: now[0])
    with watch.running() as first:
        now[0] += 4
        assert first() == 4
        with watch.running() as second, watch.running() as third:
            now[0] += 6
            assert first() == 8 and second() == third() == 4
        now[0] += 1
        assert first() == 9
    now[0] += 100
    with watch.running() as late:
        now[0] += 2
        assert late() == 2
