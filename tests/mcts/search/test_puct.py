"""The search core: properties that must hold for any world."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.search.puct import Puct, PuctSettings
from mcts.search.select import widening_bound
from mcts.search.trial import Outcome, Trial
from mcts.testing.searches import ROOT, ask, grow

DEFAULTS = PuctSettings()


def puct(root: Outcome, *, settings: PuctSettings = DEFAULTS, seed: int = 0) -> Puct:
    return settings.begin(root, seed=seed)


def outcome_for(trial: Trial, salt: int = 0, *, most: float = 1.0) -> Outcome:
    """A deterministic outcome per trial: one in four fails."""
    rng = random.Random(trial.seed ^ salt)
    if rng.random() < 0.25:
        return Outcome("failed", prior=0.3)
    return Outcome("measured", reward=most * rng.random(), prior=rng.uniform(0.1, 1.0))


def snapshot(search: Puct) -> list[tuple[object, ...]]:
    return [
        (
            node.id,
            node.parent.id if node.parent else None,
            node.state,
            node.visits,
            node.value_sum,
            node.best,
            node.pending,
            node.dead,
            tuple(child.id for child in node.children),
        )
        for _, node in sorted(search.tree.nodes.items())
    ]


def grown(trials: int) -> Puct:
    search = puct(ROOT, seed=1)
    grow(search, trials, judge=outcome_for)
    return search


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), batch=st.integers(2, 12), rounds=st.integers(1, 6))
def test_tell_does_not_depend_on_the_order(seed: int, batch: int, rounds: int) -> None:
    one, other = puct(ROOT, seed=seed), puct(ROOT, seed=seed)
    rng = random.Random(seed)
    for _ in range(rounds):
        trials = [trial for _ in range(batch) if (trial := one.ask())]
        again = [trial for _ in range(batch) if (trial := other.ask())]
        assert trials == again
        for trial in trials:
            one.tell(trial.id, outcome_for(trial))
        shuffled = rng.sample(again, len(again))
        for trial in shuffled:
            other.tell(trial.id, outcome_for(trial))
            other.tell(trial.id, outcome_for(trial))
        assert snapshot(one) == snapshot(other)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    in_flight=st.integers(1, 8),
    factor=st.floats(0.5, 4),
    alpha=st.floats(0.2, 0.9),
)
def test_widening_bound_holds_at_every_ask(
    seed: int, in_flight: int, factor: float, alpha: float
) -> None:
    constants = PuctSettings(
        widening_root=factor, widening_measured=factor, widening_exponent=alpha
    )
    search = puct(ROOT, settings=constants, seed=seed)
    waiting: list[Trial] = []
    for _ in range(60):
        if len(waiting) < in_flight and (trial := search.ask()):
            parent = search.tree.nodes[trial.parent]
            live_before = sum(not child.dead for child in parent.children) - 1
            # The ask itself put one trial in flight; the bound was checked without it.
            parent.pending -= 1
            assert live_before < widening_bound(parent, constants)
            parent.pending += 1
            waiting.append(trial)
        else:
            told = waiting.pop(0)
            search.tell(told.id, outcome_for(told))


def test_abandon_leaves_no_trace_in_the_sums() -> None:
    search = grown(20)
    before = snapshot(search)
    trial = ask(search)
    assert search.tree.root.pending == 1
    search.abandon(trial.id)
    assert snapshot(search) == before
    assert search.in_flight == 0


def test_virtual_loss_spreads_trials_in_flight() -> None:
    search = grown(30)
    trials = [search.ask() for _ in range(6)]
    parents = {trial.parent for trial in trials if trial}
    assert len(parents) > 1
    assert search.tree.root.pending == 6


def test_tell_refuses_what_contradicts_or_was_never_asked() -> None:
    search = puct(ROOT)
    trial = ask(search)
    search.tell(trial.id, Outcome("measured", reward=0.4))
    with pytest.raises(ValueError, match="another outcome"):
        search.tell(trial.id, Outcome("measured", reward=0.5))
    with pytest.raises(ValueError, match="not in flight"):
        search.tell(99, Outcome("failed"))
    with pytest.raises(ValueError, match="not in flight"):
        search.abandon(trial.id)


def test_43_failures_in_a_row_do_not_end_the_search() -> None:
    search = puct(ROOT, settings=PuctSettings(max_repairs=1, patience=4))
    for _ in range(43):
        trial = ask(search)
        search.tell(trial.id, Outcome("failed"))
    assert search.ask() is not None


def test_a_failed_node_gets_its_repairs_and_no_more() -> None:
    search = puct(ROOT, settings=PuctSettings(max_repairs=2))
    for _ in range(60):
        trial = ask(search)
        search.tell(trial.id, Outcome("failed"))
    failed = [node for node in search.tree.nodes.values() if node.state == "failed"]
    assert max(len(node.children) for node in failed) <= 2


def test_good_lines_are_visited_more_than_bad_ones() -> None:
    search = puct(ROOT, seed=5)
    good: set[int] = set()
    for _ in range(200):
        trial = ask(search)
        lucky = trial.parent in good or (trial.parent == 0 and trial.id == 1)
        if lucky:
            good.add(trial.id)
        search.tell(trial.id, Outcome("measured", reward=0.8 if lucky else 0.1))
    root_visits = {child.id: child.visits for child in search.tree.root.children}
    others = [visits for id, visits in root_visits.items() if id != 1]
    assert root_visits[1] > 3 * max(others, default=0)


@pytest.mark.parametrize("unit", [1.0, 1.4, 3.0, 40.0])
def test_beyond_one_the_best_reward_is_the_unit(unit: float) -> None:
    """Rewards above 1 lead where the same rewards lead as shares of the best one."""
    told = [0.62, 0.55, 1.0, 0.9, 0.97, 0.4, 0.99, 0.8]

    def parents(unit: float) -> list[int]:
        search = puct(Outcome("measured", reward=0.1 * unit), settings=PuctSettings(), seed=4)
        found = []
        for reward in told:
            trial = ask(search)
            found.append(trial.parent)
            search.tell(trial.id, Outcome("measured", reward=reward * unit))
        return found

    # The third trial is the best: from then on its reward is the unit.
    assert parents(unit)[4:] == parents(1.0)[4:] and parents(unit)[4] == 3


def kinds_below_the_root(rewards: list[float], settings: PuctSettings) -> list[str]:
    """The moves asked of the root, whose children earn `rewards` and lead nowhere."""
    search = puct(Outcome("measured", reward=0.5), settings=settings)
    kinds = []
    for reward in rewards:
        trial = ask(search)
        assert trial.parent == 0
        kinds.append(trial.move.kind)
        search.tell(trial.id, Outcome("measured", reward=reward, expandable=False))
    return kinds


@pytest.mark.parametrize("anywhere", [True, False])
def test_stagnation_alternates_between_another_approach_and_improving(anywhere: bool) -> None:
    settings = PuctSettings(stagnation=3, patience=99, expected_improvement=anywhere)
    kinds = kinds_below_the_root([0.5, 0.1, 0.5, 0.1, 0.2, 0.3], settings)
    assert kinds == ["improve"] * 3 + ["diversify", "improve", "diversify"]
    kinds = kinds_below_the_root([0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1], settings)
    assert kinds == ["improve"] * 3 + ["diversify"] + ["improve"] * 3 + ["diversify"]


@pytest.mark.parametrize("anywhere", [True, False])
def test_trials_in_flight_take_turns_too(anywhere: bool) -> None:
    settings = PuctSettings(
        stagnation=2, patience=99, widening_root=50.0, expected_improvement=anywhere
    )
    search = puct(Outcome("measured", reward=0.5), settings=settings)
    for _ in range(2):
        trial = ask(search)
        search.tell(trial.id, Outcome("measured", reward=0.1, expandable=False))
    kinds = [trial.move.kind for _ in range(4) if (trial := search.ask())]
    assert kinds == ["diversify", "improve", "diversify", "improve"]


def test_a_failed_node_is_only_ever_repaired() -> None:
    search = puct(ROOT, settings=PuctSettings(stagnation=1, max_repairs=9))
    kinds = set()
    for _ in range(40):
        trial = ask(search)
        if search.tree.nodes[trial.parent].state == "failed":
            kinds.add(trial.move.kind)
        search.tell(trial.id, Outcome("failed"))
    assert kinds == {"repair"}


def test_an_added_node_counts_as_told_and_reopens_a_dead_parent() -> None:
    search = puct(ROOT)
    first = ask(search)
    search.tell(first.id, Outcome("measured", reward=0.3))
    while (trial := search.ask()) is not None:
        search.exhaust(trial.id)
    assert search.tree.root.dead
    added = search.add_judged(0, Outcome("measured", reward=0.4))
    assert added == search.asked and not search.tree.root.dead
    root = search.tree.root
    assert root.visits == 3 and root.best == search.tree.nodes[added].reward
    assert ask(search).parent == added
    with pytest.raises(ValueError, match="another outcome"):
        search.tell(added, Outcome("failed"))


def test_an_added_best_node_reopens_the_ancestors_that_can_go_on() -> None:
    search = puct(ROOT, settings=PuctSettings(patience=1, far_proposals=0))
    middle = ask(search)
    search.tell(middle.id, Outcome("measured", reward=0.1))
    while not search.tree.nodes[middle.id].dead:
        trial = ask(search)
        if trial.parent == middle.id:
            search.exhaust(trial.id)
        else:
            search.tell(trial.id, Outcome("measured", reward=0.1, expandable=False))
    assert search.tree.root.dead
    search.add_judged(middle.id, Outcome("measured", reward=0.9, expandable=False))
    assert search.tree.nodes[middle.id].dead and not search.tree.root.dead
    assert ask(search).parent == 0


def test_exhaust_refuses_what_is_not_in_flight_and_changes_nothing() -> None:
    search = puct(ROOT)
    first, second = ask(search), ask(search)
    search.tell(first.id, Outcome("measured", reward=0.4))
    search.abandon(second.id)
    before = snapshot(search)
    for id in (0, first.id, second.id, 99):
        with pytest.raises(ValueError, match=f"trial {id} is not in flight"):
            search.exhaust(id)
    assert snapshot(search) == before
    assert not any(node.exhausted for node in search.tree.nodes.values())


def test_a_fresh_failure_is_repaired_before_anything_else_until_its_line_is_spent() -> None:
    search = puct(ROOT, settings=PuctSettings(max_repairs=2), seed=3)
    first = ask(search)
    search.tell(first.id, Outcome("measured", reward=0.9))
    line = [ask(search)]
    for _ in range(2):
        search.tell(line[-1].id, Outcome("failed"))
        line.append(ask(search))
        assert line[-1].move.kind == "repair" and line[-1].parent == line[-2].id
    search.tell(line[-1].id, Outcome("failed"))
    assert ask(search).move.kind != "repair"
    assert search.tree.nodes[line[0].id].dead


def test_a_repair_that_works_ends_the_line_and_can_be_built_upon() -> None:
    search = puct(ROOT, settings=PuctSettings(far_proposals=0), seed=3)
    broken = ask(search)
    search.tell(broken.id, Outcome("failed"))
    repair = ask(search)
    search.tell(repair.id, Outcome("measured", reward=0.9))
    assert {ask(search).parent for _ in range(4)} & {repair.id}
    assert not search.tree.nodes[broken.id].dead


def test_several_failures_are_repaired_oldest_first_in_whatever_order_they_were_told() -> None:
    parents = []
    for order in ((1, 2, 3), (3, 1, 2)):
        search = puct(ROOT, seed=3)
        for _ in order:
            ask(search)
        for trial in order:
            search.tell(trial, Outcome("failed"))
        parents.append([ask(search).parent for _ in order])
    assert parents == [[1, 2, 3]] * 2


def test_an_abandoned_repair_is_asked_for_again_and_an_exhausted_one_is_not() -> None:
    search = puct(ROOT, seed=3)
    broken = ask(search)
    search.tell(broken.id, Outcome("failed"))
    search.abandon(ask(search).id)
    again = ask(search)
    assert again.parent == broken.id and again.move.kind == "repair"
    search.exhaust(again.id)
    assert ask(search).parent != broken.id


def test_a_failure_without_code_is_not_repaired() -> None:
    search = puct(ROOT, seed=3)
    search.tell(ask(search).id, Outcome("failed", expandable=False))
    assert ask(search).parent == 0


def test_repairing_at_once_can_be_switched_off() -> None:
    search = puct(ROOT, settings=PuctSettings(repair_at_once=False), seed=3)
    search.tell(ask(search).id, Outcome("failed"))
    assert ask(search).move.kind == "improve"


@pytest.mark.parametrize("far", [0, 1, 5])
def test_the_first_children_of_the_root_are_far_and_no_others(far: int) -> None:
    search = puct(ROOT, settings=PuctSettings(far_proposals=far), seed=3)
    moves = []
    for _ in range(30):
        trial = ask(search)
        moves.append((trial.parent, trial.move.far))
        search.tell(trial.id, Outcome("measured", reward=0.1 + trial.id / 100))
    assert moves[:far] == [(0, True)] * far
    assert not any(is_far for _, is_far in moves[far:])


@pytest.mark.parametrize("anywhere", [True, False])
def test_another_approach_may_lie_anywhere_unless_switched_off(anywhere: bool) -> None:
    search = puct(ROOT, settings=PuctSettings(expected_improvement=anywhere, stagnation=2), seed=3)
    far = {"improve": set[bool](), "diversify": set[bool](), "repair": set[bool]()}
    for _ in range(60):
        trial = ask(search)
        if trial.id > 4:
            far[trial.move.kind].add(trial.move.far)
        outcome = Outcome("failed") if trial.id % 7 == 0 else Outcome("measured", reward=0.3)
        search.tell(trial.id, outcome)
    assert far == {"improve": {False}, "diversify": {anywhere}, "repair": {False}}


def test_stagnation_is_counted_over_the_run_not_per_node() -> None:
    """Each node has a child, hardly ever two, and none is better than the first."""
    settings = PuctSettings(stagnation=3, far_proposals=0, widening_root=0.1,
                              widening_measured=0.1, widening_exponent=0.1)  # fmt: skip
    search = puct(ROOT, settings=settings, seed=3)
    kinds = []
    for _ in range(8):
        trial = ask(search)
        kinds.append((trial.parent, trial.move.kind))
        search.tell(trial.id, Outcome("measured", reward=0.5 if trial.id == 2 else 0.4))
    assert [kind for _, kind in kinds[:5]] == ["improve"] * 5
    assert [kind for _, kind in kinds[5:]] == ["diversify", "improve", "diversify"]
    assert len({parent for parent, _ in kinds}) == len(kinds)


def test_many_in_flight_are_no_stagnation() -> None:
    settings = PuctSettings(stagnation=2, widening_root=50.0)
    search = puct(ROOT, settings=settings, seed=3)
    assert {ask(search).move.kind for _ in range(12)} == {"improve"}


def test_far_proposals_end_when_the_root_is_exhausted() -> None:
    search = puct(ROOT, seed=3)
    search.tell(ask(search).id, Outcome("measured", reward=0.5))
    search.exhaust(ask(search).id)
    assert ask(search).parent == 1


def test_a_node_near_its_peak_is_a_dead_end_only_if_the_settings_say_so() -> None:
    peak = Outcome("measured", reward=1.0, near_peak=True)
    for stop in (False, True):
        settings = PuctSettings(stop_near_peak=stop, far_proposals=0, widening_root=1.0)
        search = puct(ROOT, settings=settings, seed=3)
        search.tell(ask(search).id, peak)
        assert search.tree.nodes[1].dead is stop
        assert ask(search).parent == (0 if stop else 1)


def test_towards_the_end_exploration_and_widening_fall_to_nothing() -> None:
    constants = PuctSettings(endgame=0.5).for_run_of(40)
    assert constants.horizon == 40
    assert [constants.pace(asked) for asked in (0, 20, 30, 40, 50)] == [1, 1, 0.5, 0, 0]
    search = grown(20)
    assert widening_bound(search.tree.root, constants, pace=0.0) == constants.far_proposals
    inner = next(node for node in search.tree.nodes.values() if node.parent and node.children)
    assert widening_bound(inner, constants, pace=0.0) == 1
    assert PuctSettings(endgame=0.5, horizon=7).for_run_of(40).horizon == 7


def test_without_an_endgame_the_budget_changes_nothing() -> None:
    assert PuctSettings().for_run_of(40) == PuctSettings()
    assert PuctSettings().pace(39) == 1.0


def test_only_the_end_of_a_run_differs_by_its_endgame() -> None:
    def parents(constants: PuctSettings) -> list[int]:
        search, found = puct(ROOT, settings=constants, seed=5), []
        for _ in range(60):
            trial = ask(search)
            search.tell(trial.id, outcome_for(trial))
            found.append(trial.parent)
        return found

    plain, ending = parents(PuctSettings()), parents(PuctSettings(endgame=0.5, horizon=60))
    assert plain[:31] == ending[:31] and plain != ending


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    in_flight=st.integers(1, 6),
    mean_after=st.sampled_from([0, 9]),
    most=st.sampled_from([1.0, 1.5, 20.0]),
)
def test_a_bound_on_a_score_hides_no_better_child(
    seed: int, in_flight: int, mean_after: int, most: float
) -> None:
    """Selection passes over children by what they once scored: it must choose as if it had not."""
    search = puct(ROOT, settings=PuctSettings(mean_after=mean_after), seed=seed)
    again = puct(ROOT, settings=PuctSettings(mean_after=mean_after), seed=seed)
    waiting: list[Trial] = []
    for _ in range(80):
        if len(waiting) < in_flight and (trial := search.ask()):
            for node in again.tree.nodes.values():
                node.ceiling = math.inf
            assert again.ask() == trial
            waiting.append(trial)
            continue
        told = waiting.pop(0)
        for one in (search, again):
            if told.seed % 11:
                one.tell(told.id, outcome_for(told, most=most))
            else:
                one.abandon(told.id)
