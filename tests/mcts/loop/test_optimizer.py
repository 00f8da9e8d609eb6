"""The loop: resume equals uninterrupted, nothing is measured twice, the world may break."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mcts.domain import Candidate
from mcts.errors import AnswerPending, JournalError, NotRecorded, WorldError
from mcts.journal.record import RUNNING, Result
from mcts.loop.optimizer import (
    BEYOND_RECORDING,
    MAX_UNRECORDED,
    Optimizer,
    Progress,
    read_result,
)
from mcts.ports import Event, Proposal, ProposalRequest
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator, ToyProposer, toy_time_us
from tests.mcts.journal import paid


def optimizer(
    journal: MemoryJournal,
    evaluator: ToyEvaluator | None = None,
    *,
    inline: bool = True,
    **options: Any,
) -> Optimizer:
    return paid.optimizer(journal, ToyProposer(inline=inline), evaluator, **options)


def run(**options: Any) -> Result:
    return optimizer(MemoryJournal(), **options).run()


def test_finds_a_faster_variant_and_accounts_for_every_trial() -> None:
    evaluator = ToyEvaluator()
    result = run(evaluator=evaluator, evaluations=60)
    assert result.evaluations == 60
    assert result.stop_reason == "evaluations spent"
    assert len(evaluator.calls) == len(set(evaluator.calls)) == result.unique + 1
    best = result.best
    assert best.speedup is not None and best.speedup > 2
    assert best.candidate is not None and best.evaluation is not None
    assert best.evaluation.timing is not None
    assert best.evaluation.timing.median_us == toy_time_us(best.candidate.tunables)
    path = result.path_to(best)
    assert path[0].id == 0 and path[-1] is best
    assert all(child.parent == parent.id for parent, child in itertools.pairwise(path))


def test_the_same_seed_gives_the_same_tree_also_with_trials_in_flight() -> None:
    assert run().tree_digest == run().tree_digest
    assert run(parallel=4).tree_digest == run(parallel=4).tree_digest
    assert run(seed=8).tree_digest != run().tree_digest


@settings(max_examples=40, deadline=None)
@given(
    kills=st.lists(st.integers(0, 60), min_size=1, max_size=5),
    parallel=st.sampled_from([1, 3]),
    inline=st.booleans(),
    seed=st.integers(0, 50),
)
def test_a_run_killed_anywhere_and_resumed_equals_an_uninterrupted_one(
    kills: list[int], parallel: int, inline: bool, seed: int
) -> None:
    whole = MemoryJournal()
    expected = optimizer(whole, seed=seed, parallel=parallel, inline=inline).run()
    journal, evaluator = MemoryJournal(), ToyEvaluator()
    for kill_after in kills:
        journal = MemoryJournal(tuple(journal.events()), kill_after=kill_after)
        try:
            optimizer(journal, evaluator, seed=seed, parallel=parallel, inline=inline).run()
        except Killed:
            continue
    journal = MemoryJournal(tuple(journal.events()))
    result = optimizer(journal, evaluator, seed=seed, parallel=parallel, inline=inline).run()
    assert result.tree_digest == expected.tree_digest
    assert result.best == expected.best
    measured = [e.payload["candidate_id"] for e in journal.events() if e.kind == "measured"]
    assert len(measured) == len(set(measured))


def test_a_resumed_run_tells_of_nothing_that_its_journal_has() -> None:
    journal = MemoryJournal()
    optimizer(journal, evaluations=5).run()
    seen: list[Progress] = []
    longer = optimizer(MemoryJournal(tuple(journal.events())), evaluations=8)
    longer.reporter.on_progress = seen.append
    longer.run()
    assert seen[0].last == "measuring the baseline" and seen[0].replaying
    fresh = [one.evaluations for one in seen if not one.replaying and one.phase == "searching"]
    assert min(fresh) == 6


@pytest.mark.parametrize("inline", [True, False])
def test_a_disk_that_fills_up_anywhere_stops_the_run_and_loses_nothing(inline: bool) -> None:
    whole = MemoryJournal()
    expected = optimizer(whole, evaluations=8, inline=inline).run()
    for room in range(1, len(list(whole.events()))):
        full = MemoryJournal(kill_after=room, error=JournalError)
        with pytest.raises(JournalError):
            optimizer(full, evaluations=8, inline=inline).run()
        journal = MemoryJournal(tuple(full.events()))
        result = optimizer(journal, evaluations=8, inline=inline).run()
        assert result.tree_digest == expected.tree_digest, f"full after {room} events"


def test_a_damaged_journal_is_one_line() -> None:
    journal = MemoryJournal((Event(1, "measured", {"evaluation": {}}),))
    with pytest.raises(JournalError, match=r"damaged: event 1 \(measured\) names no candidate_id"):
        optimizer(journal)


@pytest.mark.parametrize("field", ["parent", "kind", "candidate_id", "reward"])
def test_a_result_that_cannot_be_read_names_the_journal(field: str) -> None:
    journal = MemoryJournal()
    optimizer(journal, evaluations=2).run()
    damaged = [
        Event(event.seq, event.kind, {k: v for k, v in event.payload.items() if k != field})
        if event.kind == "told"
        else event
        for event in journal.events()
    ]
    with pytest.raises(JournalError, match="damaged"):
        read_result(damaged)


def test_an_intent_stands_before_every_measurement() -> None:
    journal = MemoryJournal()
    optimizer(journal, parallel=3, inline=False).run()
    seen: set[tuple[str, object]] = set()
    for event in journal.events():
        if event.kind == "measured":
            assert ("measuring", event.payload["candidate_id"]) in seen
        if event.kind == "proposed" and event.payload["trial"] != 0:
            assert ("proposing", event.payload["trial"]) in seen
        if event.kind in ("measuring", "proposing"):
            key = "candidate_id" if event.kind == "measuring" else "trial"
            seen.add((event.kind, event.payload[key]))


def test_a_broken_world_is_no_evidence() -> None:
    result = run(evaluator=ToyEvaluator(fail_world_at=frozenset({3, 7})))
    assert result.evaluations == 25
    assert all(node.kind != "rejected" for node in result.nodes)
    assert result.nodes[0].visits == 26


def test_a_world_that_stays_broken_stops_the_run_which_then_resumes() -> None:
    journal = MemoryJournal()
    with pytest.raises(WorldError, match="fallen off"):
        optimizer(journal, ToyEvaluator(fail_world_at=frozenset(range(10, 99)))).run()
    assert read_result(journal.events()).stop_reason.startswith("error: the GPU")
    evaluator = ToyEvaluator()
    result = optimizer(journal, evaluator).run()
    assert result.evaluations == 25
    assert len(evaluator.calls) < 25


def test_a_journal_of_another_run_is_refused() -> None:
    journal = MemoryJournal()
    optimizer(journal, seed=1).run()
    with pytest.raises(JournalError, match="seed = 1, not 2"):
        optimizer(journal, seed=2).run()


def test_a_run_in_progress_can_be_read() -> None:
    journal = MemoryJournal(kill_after=60)
    with pytest.raises(Killed):
        optimizer(journal).run()
    result = read_result(journal.events())
    assert result.stop_reason == RUNNING
    assert 0 < result.evaluations < 25
    with pytest.raises(JournalError, match="baseline"):
        read_result(iter(()))


def test_stop_ends_the_run_early_and_says_so() -> None:
    run = optimizer(MemoryJournal())
    lines: list[Progress] = []

    def watch(progress: Progress) -> None:
        lines.append(progress)
        if progress.evaluations == 5:
            run.stop()

    run.reporter.on_progress = watch
    result = run.run()
    assert result.stop_reason == "interrupted"
    assert result.evaluations == 5
    assert lines[-1].best_speedup == result.best.speedup


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError):
        run(evaluations=0)


def test_the_space_can_be_searched_to_its_end() -> None:
    result = run(evaluations=10_000)
    assert result.stop_reason == "nothing left to try"
    assert result.unique == 6**3 - 1


def test_a_run_that_has_spent_its_evaluations_is_only_read() -> None:
    journal = MemoryJournal()
    whole = optimizer(journal).run()
    again, more = optimizer(journal), optimizer(journal, evaluations=30)
    result = again.run()
    assert (result.tree_digest, result.best.id) == (whole.tree_digest, whole.best.id)
    assert result.stop_reason == whole.stop_reason and again.ledger.told == 0
    assert more.run().evaluations == more.ledger.told == 30


class Beyond(ToyProposer):
    """Proposes what a recording lacks whenever the trial's seed says so."""

    def __init__(self, *, share: int, inline: bool = False) -> None:
        super().__init__(inline=inline)
        self.share = share

    def propose(self, request: ProposalRequest) -> Proposal:
        if request.seed % 100 < self.share:
            usage = {"model": "m", "prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5}
            raise NotRecorded("the recording holds no measurement of BLOCK = 1", usage=usage)
        return super().propose(request)


def test_what_a_recording_does_not_hold_is_no_trial_but_counted_and_paid() -> None:
    journal = MemoryJournal()
    result = paid.optimizer(journal, Beyond(share=40), parallel=2).run()
    assert result.evaluations == 25, "every trial of the budget is one that could be judged"
    assert result.unrecorded > 5
    assert all(node.kind != "rejected" for node in result.nodes)
    assert result.spending.cost_usd == pytest.approx(0.5 * result.unrecorded)
    abandoned = [event for event in journal.events() if event.kind == "abandoned"]
    assert abandoned == []
    again = paid.optimizer(journal, Beyond(share=100), parallel=2, evaluations=25).run()
    assert again.tree_digest == result.tree_digest, "a resumed run asks nothing again"


@settings(max_examples=15, deadline=None)
@given(kill=st.integers(1, 80), parallel=st.sampled_from([1, 3]), seed=st.integers(0, 20))
def test_a_run_killed_among_such_proposals_resumes_as_it_was(
    kill: int, parallel: int, seed: int
) -> None:
    options: dict[str, Any] = {"parallel": parallel, "seed": seed, "evaluations": 12}
    whole = paid.optimizer(MemoryJournal(), Beyond(share=40), **options).run()
    journal = MemoryJournal(kill_after=kill)
    try:
        result = paid.optimizer(journal, Beyond(share=40), **options).run()
    except Killed:
        left = MemoryJournal(tuple(journal.events()))
        result = paid.optimizer(left, Beyond(share=40), **options).run()
    assert (result.tree_digest, result.unrecorded) == (whole.tree_digest, whole.unrecorded)


def test_a_proposer_that_never_meets_the_recording_ends_the_run() -> None:
    result = paid.optimizer(MemoryJournal(), Beyond(share=100)).run()
    assert result.stop_reason == BEYOND_RECORDING
    assert (result.evaluations, result.unrecorded) == (0, MAX_UNRECORDED)


class Late(ToyProposer):
    """Has no answer yet to the trials in `missing`."""

    def __init__(self, missing: set[int]) -> None:
        super().__init__(inline=False)
        self.missing = missing
        self.asked = 0

    def propose(self, request: ProposalRequest) -> Proposal:
        self.asked += 1
        if self.asked in self.missing:
            raise AnswerPending("waiting for an answer")
        return super().propose(request)


def test_a_pending_answer_suspends_the_run_and_abandons_nothing() -> None:
    whole = paid.optimizer(MemoryJournal(), ToyProposer(inline=False), parallel=3).run()
    journal = MemoryJournal()
    with pytest.raises(AnswerPending):
        paid.optimizer(journal, Late({5}), parallel=3).run()
    events = list(journal.events())
    assert not [event for event in events if event.kind == "abandoned"]
    proposed = {
        Candidate.model_validate(e.payload["candidate"]).id for e in events if e.kind == "proposed"
    }
    measured = {e.payload["candidate_id"] for e in events if e.kind == "measured"}
    assert proposed == measured, "what was in flight beside it is finished"
    result = paid.optimizer(journal, ToyProposer(inline=False), parallel=3).run()
    assert result.tree_digest == whole.tree_digest
