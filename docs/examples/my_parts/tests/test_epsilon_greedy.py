"""The search keeps what every search promises, and wanders as often as it says."""

from __future__ import annotations

import pytest
from my_parts.epsilon_greedy import EpsilonGreedySettings

from mcts.search.port import SearchSettings
from mcts.search.trial import Outcome
from mcts.testing.searches import SearchContract

ROOT = Outcome("measured", reward=0.1)


class TestEpsilonGreedy(SearchContract):
    @pytest.fixture
    def plan(self) -> SearchSettings:
        return EpsilonGreedySettings()


def parents(epsilon: float) -> list[int]:
    """Where the trials start from, if every trial is a little better than all before it."""
    search = EpsilonGreedySettings(epsilon=epsilon).begin(ROOT, seed=3)
    found = []
    for number in range(40):
        trial = search.ask()
        assert trial is not None
        found.append(trial.parent)
        search.tell(trial.id, Outcome("measured", reward=0.2 + number / 100))
    return found


def test_without_epsilon_it_goes_on_from_the_best() -> None:
    assert parents(0.0) == list(range(40))


def test_with_epsilon_it_wanders() -> None:
    strays = sum(parent != number for number, parent in enumerate(parents(0.5)))
    assert 10 < strays < 30


def test_constants_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        EpsilonGreedySettings(epsilon=1.5)
