"""A search: mostly go on from the best variant, now and then from any."""

from __future__ import annotations

from dataclasses import dataclass

from mcts.search.parent_search import ParentSearch, is_open, uniform
from mcts.search.port import SearchSettings
from mcts.search.tree import Node
from mcts.search.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonGreedySettings(SearchSettings):
    """epsilon: how often a trial starts from an open node drawn at random, in [0, 1].

    repairs: tries that a failed proposal's line gets before the search goes on elsewhere.
    """

    epsilon: float = 0.2
    repairs: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon lies in [0, 1], not {self.epsilon!r}")
        if not isinstance(self.repairs, int) or self.repairs < 0:
            raise ValueError(f"repairs is a whole number from 0, not {self.repairs!r}")

    def begin(self, root: Outcome, *, seed: int) -> EpsilonGreedy:
        return EpsilonGreedy(root, settings=self, seed=seed)


class EpsilonGreedy(ParentSearch):
    """Hill climbing that forgets itself with probability epsilon.

    All chance comes from `_draw`, which depends on the seed and on how often was asked.
    """

    def __init__(self, root: Outcome, *, settings: EpsilonGreedySettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)
        self._epsilon = settings.epsilon

    def _parent(self) -> Node | None:
        pool = [node for node in self.tree.nodes.values() if is_open(node)]
        if pool and uniform(self._draw("wander")) < self._epsilon:
            return pool[self._draw("which") % len(pool)]
        return self._best_open(pool)
