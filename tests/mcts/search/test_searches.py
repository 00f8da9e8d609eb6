"""The searches: what the contract suite leaves out, and what each of them does."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.errors import RooftreeError
from mcts.search import beam
from mcts.search.annealing import Annealing, AnnealingSettings
from mcts.search.beam import BeamSettings
from mcts.search.best_of_n import BestOfNSettings
from mcts.search.catalogue import searches
from mcts.search.evolution import EvolutionSettings
from mcts.search.greedy import GreedySettings
from mcts.search.port import AskTell, SearchSettings
from mcts.search.puct import PuctSettings
from mcts.search.trial import Outcome, Trial
from mcts.testing.searches import ROOT, SearchContract, ask, grow, noisy, shape

PLANS: dict[str, SearchSettings] = {
    "puct": PuctSettings(),
    "best_of_n": BestOfNSettings(),
    "greedy": GreedySettings(),
    "beam": BeamSettings(width=3, branching=2),
    "evolution": EvolutionSettings(islands=2, population=4, migration=5),
    "annealing": AnnealingSettings(steps=30),
}
every_search = pytest.mark.parametrize("name", PLANS)


def test_every_search_has_a_plan() -> None:
    unplanned = sorted(set(searches()) - set(PLANS))
    assert not unplanned, f"add settings of {unplanned} to PLANS in {__file__}"
    assert set(PLANS) == set(searches())


def test_two_searches_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nameless(GreedySettings):
        pass

    Nameless.__module__ = beam.__name__
    monkeypatch.setattr(beam, "Nameless", Nameless, raising=False)
    with pytest.raises(RooftreeError, match=r"Nameless and .* are both called 'greedy'"):
        searches.__wrapped__()


class TestSmallSettings(SearchContract):
    """Settings with which generations, migrations and cooling happen within a few trials."""

    @pytest.fixture(params=["beam", "evolution", "annealing"])
    def plan(self, request: pytest.FixtureRequest) -> SearchSettings:
        return PLANS[request.param]


def start(name: str, *, seed: int = 1) -> AskTell:
    return PLANS[name].begin(ROOT, seed=seed)


@every_search
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), in_flight=st.integers(1, 9))
def test_the_same_answers_give_the_same_tree_for_any_seed(
    name: str, seed: int, in_flight: int
) -> None:
    one, other = start(name, seed=seed), start(name, seed=seed)
    assert grow(one, 40, in_flight=in_flight) == grow(other, 40, in_flight=in_flight)
    assert shape(one) == shape(other)
    assert one.in_flight == 0
    assert one.tree.root.visits == 41
    assert one.tree.root.pending == 0


@pytest.mark.parametrize("name", [name for name in PLANS if name not in ("puct", "best_of_n")])
def test_a_failure_is_repaired_as_often_as_settings_say(name: str) -> None:
    search = start(name)
    first = ask(search)
    search.tell(first.id, Outcome("failed"))
    repair = ask(search)
    assert (repair.parent, repair.move.kind) == (first.id, "repair")
    search.tell(repair.id, Outcome("failed"))
    assert ask(search).parent == 0, "one repair is all it gets"


@pytest.mark.parametrize("seed", range(10))
def test_an_abandoned_trial_moves_no_turn(seed: int) -> None:
    """Each island has one member, so that the turn alone says who is asked for."""
    settings = EvolutionSettings(islands=3, population=1, migration=1000, repairs=0)
    one, twin = (settings.begin(ROOT, seed=seed) for _ in range(2))
    for search in (one, twin):
        grow(search, 12)
    one.abandon(ask(one).id)
    assert ask(one).parent == ask(twin).parent


def test_an_abandoned_repair_is_asked_for_again() -> None:
    search = GreedySettings().begin(ROOT, seed=1)
    first = ask(search)
    search.tell(first.id, Outcome("failed"))
    search.abandon(ask(search).id)
    assert ask(search).parent == first.id


def test_a_failure_without_code_is_not_repaired() -> None:
    search = GreedySettings().begin(ROOT, seed=1)
    search.tell(ask(search).id, Outcome("failed", expandable=False))
    assert ask(search).parent == 0


def test_best_of_n_starts_from_the_baseline_every_time() -> None:
    search = start("best_of_n")
    assert {trial.parent for trial in grow(search, 30)} == {0}


def test_greedy_goes_on_from_the_best() -> None:
    search = GreedySettings(repairs=0).begin(ROOT, seed=3)
    rewards = {0: 0.1}
    for _ in range(40):
        trial = ask(search)
        assert rewards[trial.parent] == max(rewards.values())
        outcome = noisy(trial)
        search.tell(trial.id, outcome)
        if outcome.kind == "measured" and outcome.expandable:
            rewards[trial.id] = outcome.reward


def test_a_beam_holds_no_more_than_its_width_and_never_loses_the_best() -> None:
    search = BeamSettings(width=3, branching=2, repairs=0).begin(ROOT, seed=2)

    def always(trial: Trial) -> Outcome:
        return Outcome("measured", reward=random.Random(trial.seed).random())

    grow(search, 2, judge=always)
    for _ in range(6):
        open_nodes = [n for n in search.tree.nodes.values() if n.state == "measured"]
        best = max(open_nodes, key=lambda node: node.reward).id
        width = min(3, len(open_nodes))
        generation = grow(search, 2 * width, in_flight=6, judge=always)
        parents = {trial.parent for trial in generation}
        assert len(parents) == width
        assert best in parents


def test_a_beam_waits_for_its_generation() -> None:
    search = BeamSettings(width=2, branching=2).begin(ROOT, seed=1)
    first, second = ask(search), ask(search)
    assert search.ask() is None
    search.tell(second.id, Outcome("measured", reward=0.4))
    assert search.ask() is None
    search.tell(first.id, Outcome("measured", reward=0.5))
    parents = {ask(search).parent for _ in range(4)}
    assert parents == {first.id, second.id}


def test_islands_take_turns_and_children_stay_at_home() -> None:
    search = EvolutionSettings(islands=2, migration=1000, repairs=0).begin(ROOT, seed=1)
    home = {0: {0, 1}}
    for at in range(30):
        trial = ask(search)
        assert at % 2 in home[trial.parent]
        search.tell(trial.id, Outcome("measured", reward=0.5))
        home[trial.id] = {at % 2}


def test_the_best_migrates() -> None:
    search = EvolutionSettings(islands=2, tournament=8, migration=3).begin(ROOT, seed=1)
    star = ask(search)
    search.tell(star.id, Outcome("measured", reward=0.9))

    def dull(_: Trial) -> Outcome:
        return Outcome("measured", reward=0.2)

    asked = grow(search, 40, judge=dull)
    other_island = [trial.parent for trial in asked[::2]]
    assert star.id not in other_island[:2]
    assert star.id in other_island[8:]


def test_annealing_goes_downhill_while_hot_and_not_when_cold() -> None:
    def moved(search: Annealing) -> int:
        search.tell(ask(search).id, Outcome("measured", reward=0.8))
        count, here = 0, 1
        for _ in range(60):
            trial = ask(search)
            count += trial.parent not in (here, 0)
            here = trial.parent
            search.tell(trial.id, Outcome("measured", reward=0.75))
        return count

    hot = Annealing(ROOT, settings=AnnealingSettings(hot=5.0, cold=5.0), seed=1)
    cold = Annealing(ROOT, settings=AnnealingSettings(hot=0.001, cold=0.001), seed=1)
    assert moved(hot) > 40
    assert moved(cold) == 0
    assert ask(cold).parent == 1


def test_annealing_cools_from_hot_to_cold() -> None:
    search = Annealing(ROOT, settings=AnnealingSettings(hot=0.4, cold=0.1, steps=4), seed=1)
    seen = []
    for _ in range(6):
        seen.append(round(search.temperature, 6))
        search.tell(ask(search).id, Outcome("failed"))
    assert seen == pytest.approx([0.4, 0.282843, 0.2, 0.141421, 0.1, 0.1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BeamSettings(width=0), "width"),
        (lambda: EvolutionSettings(islands=0), "islands"),
        (lambda: EvolutionSettings(tournament=0), "tournament"),
        (lambda: GreedySettings(repairs=-1), "repairs"),
        (lambda: AnnealingSettings(hot=0.1, cold=0.2), "cold"),
        (lambda: AnnealingSettings(steps=0), "steps"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_settings_are_for_any_run_unless_they_say_otherwise() -> None:
    assert all(plan.for_run_of(40) is plan for plan in PLANS.values())
