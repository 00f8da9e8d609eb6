"""The loop: resume equals uninterrupted, nothing is measured twice, the world may break."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mcts.errors import JournalError, WorldError
from mcts.journal.record import RUNNING, Result
from mcts.loop.optimizer import Optimizer, Progress, read_result
from mcts.ports import Event
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
