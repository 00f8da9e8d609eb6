"""Best of N: independent proposals from the baseline, the best one wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mcts.search.parent_search import ParentSearch, is_open
from mcts.search.port import SearchSettings, check_repairs
from mcts.search.tree import Node
from mcts.search.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfNSettings(SearchSettings):
    """repairs: tries that a failed proposal's line gets; by default none, so that all proposals
    stand for themselves.
    """

    name: ClassVar[str] = "best_of_n"
    repairs: int = 0

    def __post_init__(self) -> None:
        check_repairs(self.repairs)

    def begin(self, root: Outcome, *, seed: int) -> BestOfN:
        return BestOfN(root, settings=self, seed=seed)


class BestOfN(ParentSearch):
    """Every trial starts from the root: nothing that was measured steers where to look next."""

    def __init__(self, root: Outcome, *, settings: BestOfNSettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)

    def _parent(self) -> Node | None:
        return self.tree.root if is_open(self.tree.root) else None
