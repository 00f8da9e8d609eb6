"""Finalists: the best are measured again, once each, and only that is reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.errors import InputError, JournalError, WorldError
from mcts.journal.record import Result
from mcts.loop.finalists import TRIES
from mcts.loop.optimizer import Optimizer, Progress, read_result
from mcts.ports import Event
from mcts.testing.toy import Killed, MemoryJournal, ToyEvaluator
from tests.mcts.loop.finals import ConfirmingToy, EnergyToy, optimizer


def run(toy: ToyEvaluator | None = None, **options: Any) -> Result:
    return optimizer(MemoryJournal(), toy or ConfirmingToy(), **options).run()


def searched_best(result: Result) -> str:
    best = max(result.nodes, key=lambda node: (node.speedup or 0.0, -node.id))
    assert best.candidate is not None
    return best.candidate.id


def test_the_reported_speedup_is_the_confirmed_one() -> None:
    toy = ConfirmingToy(share=0.9)
    result = run(toy)
    best = result.best
    assert best.candidate is not None and best.verdict is not None and best.speedup is not None
    assert best.candidate.id == searched_best(result)
    assert best.verdict == result.confirmed[best.candidate.id] == best.confirmed
    assert best.verdict.speedup == pytest.approx(0.9 * best.speedup)
    assert 1 <= len(toy.confirmed) == len(set(toy.confirmed)) == len(result.confirmed) <= 3


def test_confirmations_leave_the_tree_alone() -> None:
    plain, confirmed = run(ToyEvaluator()), run(ConfirmingToy(share=0.5))
    assert plain.tree_digest == confirmed.tree_digest
    assert plain.confirmed == {} and confirmed.confirmed
    assert [n.reward for n in plain.nodes] == [n.reward for n in confirmed.nodes]


def test_the_best_is_profiled_for_a_report_alone() -> None:
    def profiled(**options: Any) -> tuple[set[str], Result]:
        journal = MemoryJournal()
        result = optimizer(journal, ToyEvaluator(), evaluations=1, **options).run()
        ids = {e.payload["candidate_id"] for e in journal.events() if e.kind == "profiled"}
        return ids, result

    with_best, result = profiled()
    without, same = profiled(profiles_best=False)
    root, best = result.nodes[0].candidate, result.nodes[1].candidate
    assert root is not None and best is not None and result.best.candidate == best
    assert with_best == {root.id, best.id} and without == {root.id}
    assert same.tree_digest == result.tree_digest


def test_a_finalist_that_is_far_behind_is_not_measured_again() -> None:
    toy = ConfirmingToy(share=1.0)
    result = run(toy, evaluations=60)
    best = result.best.verdict
    assert best is not None and best.timing is not None
    for node in result.nodes:
        if node.confirmed is not None and node.evaluation and node.evaluation.timing:
            assert node.evaluation.timing.speedup_high >= best.timing.speedup_low


def test_a_finalist_that_fails_makes_room_for_the_next() -> None:
    first = searched_best(run())
    toy = ConfirmingToy(fails=frozenset({first}))
    result = run(toy)
    assert toy.confirmed[0] == first and len(toy.confirmed) > 1
    assert result.best.candidate is not None and result.best.candidate.id != first
    assert result.best.candidate.id == toy.confirmed[1]
    (refused,) = [n for n in result.nodes if n.confirmed and n.confirmed.status == "refused"]
    assert refused.speedup is not None and refused.verdict is not None
    assert refused.verdict.speedup is None


def test_the_baseline_is_best_after_a_bounded_number_of_failed_finalists() -> None:
    toy = ConfirmingToy(fails=None)
    result = run(toy, evaluations=60, finalists=2)
    assert len(toy.confirmed) == TRIES * 2
    assert result.best == result.baseline


def test_a_finalist_confirmed_slower_loses_to_the_baseline() -> None:
    result = run(ConfirmingToy(share=0.1))
    assert result.confirmed and result.best == result.baseline


def test_nothing_is_confirmed_without_finalists_or_a_confirming_evaluator() -> None:
    off = ConfirmingToy()
    assert run(off, finalists=0).confirmed == {} and off.confirmed == []
    assert run(ToyEvaluator()).confirmed == {}
    with pytest.raises(InputError, match="finalists must be at least 0"):
        run(finalists=-1)


def test_a_stopped_run_confirms_what_it_has() -> None:
    toy, lines = ConfirmingToy(), []
    search = optimizer(MemoryJournal(), toy)

    def watch(progress: Progress) -> None:
        lines.append(progress)
        if progress.evaluations == 5:
            search.stop()

    search.reporter.on_progress = watch
    result = search.run()
    assert result.stop_reason == "interrupted" and result.confirmed
    confirming = [line for line in lines if line.phase == "confirming"]
    assert len(confirming) == 2 * len(result.confirmed)
    assert "being measured again" in confirming[0].last
    assert "while searching, " in confirming[1].last and "confirmed" in confirming[1].last
    assert lines[-1].best_speedup == result.best.verdict.speedup  # type: ignore[union-attr]


def test_an_interrupted_run_confirms_nothing() -> None:
    toy = ConfirmingToy()
    search = optimizer(MemoryJournal(), toy)

    def interrupt(progress: Progress) -> None:
        if progress.evaluations == 5:
            raise KeyboardInterrupt

    search.reporter.on_progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert toy.confirmed == []


def test_a_world_that_breaks_meanwhile_can_be_resumed() -> None:
    journal = MemoryJournal()
    with pytest.raises(WorldError, match="fallen off"):
        optimizer(journal, ConfirmingToy(broken=True)).run()
    toy = ConfirmingToy()
    result = optimizer(journal, toy).run()
    assert result.confirmed and toy.calls == toy.confirmed, "nothing but the finalists"


def test_an_intent_stands_before_every_confirmation() -> None:
    journal = MemoryJournal()
    optimizer(journal, ConfirmingToy()).run()
    kinds = [(e.kind, e.payload["candidate_id"]) for e in journal.events() if "confirm" in e.kind]
    assert kinds and len(kinds) == len(set(kinds))
    for intent, answer in zip(kinds[::2], kinds[1::2], strict=True):
        assert intent == ("confirming", answer[1]) and answer[0] == "confirmed"


@settings(max_examples=30, deadline=None)
@given(kills=st.lists(st.integers(0, 12), min_size=1, max_size=4), failing=st.booleans())
def test_a_run_killed_while_confirming_measures_nothing_twice(
    kills: list[int], failing: bool
) -> None:
    fails = None if failing else frozenset[str]()
    whole = MemoryJournal()
    expected = optimizer(whole, ConfirmingToy(fails=fails), evaluations=12).run()
    events = tuple(whole.events())
    start = next(event.seq for event in events if event.kind == "confirming") - 1
    journal = MemoryJournal(events[:start])
    for kill_after in kills:
        journal = MemoryJournal(tuple(journal.events()), kill_after=kill_after)
        try:
            optimizer(journal, ConfirmingToy(fails=fails), evaluations=12).run()
        except Killed:
            continue
    journal = MemoryJournal(tuple(journal.events()))
    result = optimizer(journal, ConfirmingToy(fails=fails), evaluations=12).run()
    assert result.best == expected.best and dict(result.confirmed) == dict(expected.confirmed)
    answered = [e.payload["candidate_id"] for e in journal.events() if e.kind == "confirmed"]
    assert len(answered) == len(set(answered))


def test_a_run_resumed_with_more_trials_keeps_what_was_confirmed() -> None:
    journal = MemoryJournal()
    first = optimizer(journal, ConfirmingToy(), evaluations=12).run()
    toy = ConfirmingToy()
    second = optimizer(journal, toy, evaluations=60, finalists=1).run()
    assert set(first.confirmed) <= set(second.confirmed)
    assert not set(toy.confirmed) & set(first.confirmed)
    assert optimizer(journal, toy, evaluations=60, finalists=0).run().best == second.best


def test_a_journal_from_before_objectives_is_read_and_resumed() -> None:
    journal = MemoryJournal()
    now = optimizer(journal, ToyEvaluator(), evaluations=8).run()
    old = [
        Event(e.seq, e.kind, {k: v for k, v in e.payload.items() if k != "objective"})
        for e in journal.events()
    ]
    before = read_result(old)
    assert before.objective == "time" and before.best == now.best
    resumed: Optimizer = optimizer(MemoryJournal(tuple(old)), ConfirmingToy(), evaluations=10)
    assert resumed.run().confirmed


def test_another_objective_is_another_run() -> None:
    journal = MemoryJournal()
    optimizer(journal, EnergyToy(), evaluations=8).run()
    with pytest.raises(JournalError, match="objective = 'time', not 'edp'"):
        optimizer(journal, EnergyToy(), evaluations=8, objective="edp").run()
