"""Greedy: always go on from the best variant so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mcts.search.parent_search import ParentSearch
from mcts.search.port import SearchSettings, check_repairs
from mcts.search.tree import Node
from mcts.search.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedySettings(SearchSettings):
    """repairs: tries that a failed proposal's line gets before the search goes on elsewhere."""

    name: ClassVar[str] = "greedy"
    repairs: int = 1

    def __post_init__(self) -> None:
        check_repairs(self.repairs)

    def begin(self, root: Outcome, *, seed: int) -> Greedy:
        return Greedy(root, settings=self, seed=seed)


class Greedy(ParentSearch):
    """Hill climbing: the next proposal starts from the node of the highest reward.

    Rewards are flat inside the noise, so equals are common; among them the seed decides.
    """

    def __init__(self, root: Outcome, *, settings: GreedySettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)

    def _parent(self) -> Node | None:
        return self._best_open(self.tree.nodes.values())
