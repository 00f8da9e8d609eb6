"""Simulated annealing: a walk that may go downhill while it is hot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from mcts.search.parent_search import ParentSearch, is_open, uniform
from mcts.search.port import SearchSettings, check_counts, check_repairs
from mcts.search.seeding import seed_from
from mcts.search.tree import FIXED_POINT, Node
from mcts.search.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnealingSettings(SearchSettings):
    """hot, cold: the first and the last temperature, in units of reward. steps: trials over which
    it falls from one to the other, geometrically; it stays cold afterwards. repairs: tries that a
    failed proposal's line gets.
    """

    name: ClassVar[str] = "annealing"
    hot: float = 0.1
    cold: float = 0.005
    steps: int = 60
    repairs: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.cold <= self.hot:
            raise ValueError("cold must be positive and not above hot")
        check_counts(steps=self.steps)
        check_repairs(self.repairs)

    def begin(self, root: Outcome, *, seed: int) -> Annealing:
        return Annealing(root, settings=self, seed=seed)


class Annealing(ParentSearch):
    """Proposals start from where the walk stands; it moves to a measured variant with probability
    min(1, exp(change of reward / temperature)) (Kirkpatrick, Gelatt and Vecchi, Optimization by
    Simulated Annealing, Science 220, 1983). What failed or leads no further is never moved to.
    """

    def __init__(self, root: Outcome, *, settings: AnnealingSettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)
        self._settings = settings
        self._here = self.tree.root
        self._steps = 0

    def _parent(self) -> Node | None:
        if not is_open(self._here):
            self._here = self._best_open(self.tree.nodes.values()) or self._here
        return self._here if is_open(self._here) else None

    @property
    def temperature(self) -> float:
        """The temperature now, in units of reward."""
        settings = self._settings
        share = min(1.0, self._steps / settings.steps)
        return settings.hot * math.pow(settings.cold / settings.hot, share)

    def _on_tell(self, node: Node) -> None:
        best = max(FIXED_POINT, self.tree.root.best)  # above 1 the unit is the best reward
        change = (node.reward - self._here.reward) / best
        chance = uniform(seed_from(self.seed, "accept", node.id))
        if is_open(node) and (change >= 0 or chance < math.exp(change / self.temperature)):
            self._here = node
        self._steps += 1
