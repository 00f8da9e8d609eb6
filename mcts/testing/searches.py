"""What every search must do behind ask and tell. Subclass, say its plan, and run pytest."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import is_dataclass

import pytest

from mcts.search.port import AskTell, SearchSettings
from mcts.search.trial import Outcome, Trial

ROOT = Outcome("measured", reward=0.1, prior=1.0)
Judge = Callable[[Trial], Outcome]


class SearchContract:
    """Override `plan` with the search's constants."""

    @pytest.fixture
    def plan(self) -> SearchSettings:
        raise NotImplementedError("override the fixture plan of SearchContract")

    def test_its_plan_is_a_dataclass_that_begins_it(self, plan: SearchSettings) -> None:
        assert is_dataclass(plan), "constants are shown in the report and kept in the journal"
        assert plan.begin(ROOT, seed=1).asked == 0

    @pytest.mark.parametrize("in_flight", [1, 4])
    def test_the_same_answers_give_the_same_tree(
        self, plan: SearchSettings, in_flight: int
    ) -> None:
        one, other = plan.begin(ROOT, seed=5), plan.begin(ROOT, seed=5)
        assert grow(one, 40, in_flight=in_flight) == grow(other, 40, in_flight=in_flight)
        assert shape(one) == shape(other)
        assert one.in_flight == 0
        assert one.tree.root.visits == 41

    def test_another_seed_asks_otherwise(self, plan: SearchSettings) -> None:
        one, other = plan.begin(ROOT, seed=1), plan.begin(ROOT, seed=2)
        assert grow(one, 5) != grow(other, 5)

    def test_a_parent_is_settled_and_open(self, plan: SearchSettings) -> None:
        search = plan.begin(ROOT, seed=1)
        out: list[Trial] = []
        for _ in range(80):
            trial = search.ask() if len(out) < 5 else None
            if trial is None:
                told = out.pop(0)
                search.tell(told.id, noisy(told))
                continue
            parent = search.tree.nodes[trial.parent]
            assert parent.state != "pending"
            assert not parent.exhausted
            assert (trial.move.kind == "repair") == (parent.state == "failed")
            out.append(trial)

    def test_tell_is_idempotent_and_refuses_contradiction(self, plan: SearchSettings) -> None:
        search = plan.begin(ROOT, seed=1)
        trial = ask(search)
        search.tell(trial.id, Outcome("measured", reward=0.5))
        before = shape(search)
        search.tell(trial.id, Outcome("measured", reward=0.5))
        assert shape(search) == before
        with pytest.raises(ValueError):
            search.tell(trial.id, Outcome("failed"))
        with pytest.raises(ValueError):
            search.tell(99, Outcome("failed"))

    def test_an_abandoned_trial_leaves_no_trace(self, plan: SearchSettings) -> None:
        search = plan.begin(ROOT, seed=1)
        grow(search, 12)
        before = shape(search)
        trial = ask(search)
        search.abandon(trial.id)
        assert shape(search) == before
        assert search.in_flight == 0
        with pytest.raises(ValueError):
            search.tell(trial.id, Outcome("failed"))
        assert ask(search).id == trial.id + 1

    def test_it_ends_only_once_nothing_is_left_anywhere(self, plan: SearchSettings) -> None:
        search = plan.begin(ROOT, seed=1)
        grow(search, 15)
        closed: set[int] = set()
        while (trial := search.ask()) is not None:
            assert trial.parent not in closed
            closed.add(trial.parent)
            search.exhaust(trial.id)
        measured = [n for n in search.tree.nodes.values() if n.state == "measured"]
        assert all(node.exhausted for node in measured)

    def test_an_added_node_is_part_of_the_tree(self, plan: SearchSettings) -> None:
        search = plan.begin(ROOT, seed=1)
        grow(search, 6)
        added = search.add_judged(0, Outcome("measured", reward=0.99))
        assert search.tree.nodes[added].parent is search.tree.root
        assert search.asked == added
        grow(search, 20)


def ask(search: AskTell) -> Trial:
    trial = search.ask()
    assert trial is not None
    return trial


def noisy(trial: Trial) -> Outcome:
    """One in four fails, one in ten leads no further."""
    rng = random.Random(trial.seed)
    if rng.random() < 0.25:
        return Outcome("failed", prior=0.3)
    return Outcome("measured", reward=rng.random(), expandable=rng.random() > 0.1)


def grow(search: AskTell, trials: int, *, in_flight: int = 1, judge: Judge = noisy) -> list[Trial]:
    """Ask and tell with up to `in_flight` out at a time, in the order of asking."""
    asked: list[Trial] = []
    out: list[Trial] = []
    while len(asked) < trials or out:
        trial = search.ask() if len(asked) < trials and len(out) < in_flight else None
        if trial is not None:
            asked.append(trial)
            out.append(trial)
            continue
        assert out, "nothing to try and nothing in flight"
        told = out.pop(0)
        search.tell(told.id, judge(told))
    return asked


def shape(search: AskTell) -> list[tuple[object, ...]]:
    """All of the tree that a trial could change."""
    return [
        (
            id,
            node.parent.id if node.parent else None,
            node.state,
            node.visits,
            node.pending,
            node.value_sum,
        )
        for id, node in sorted(search.tree.nodes.items())
    ]
