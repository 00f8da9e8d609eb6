"""Beam search: the best few variants go on together, generation by generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mcts.search.parent_search import ParentSearch, is_open
from mcts.search.port import SearchSettings, check_counts, check_repairs
from mcts.search.seeding import seed_from
from mcts.search.tree import Node
from mcts.search.trial import Outcome, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamSettings(SearchSettings):
    """width: how many variants a generation keeps. branching: children that each of them gets.
    repairs: tries that a failed proposal's line gets.
    """

    name: ClassVar[str] = "beam"
    width: int = 4
    branching: int = 3
    repairs: int = 1

    def __post_init__(self) -> None:
        check_counts(width=self.width, branching=self.branching)
        check_repairs(self.repairs)

    def begin(self, root: Outcome, *, seed: int) -> Beam:
        return Beam(root, settings=self, seed=seed)


class Beam(ParentSearch):
    """A generation gives each of its members `branching` children; the `width` best of members and
    children together are the next (a member that no child beats stays, so the best is never lost).

    A generation is chosen once all of its trials are told: until then there may be less to do than
    trials could be in flight.
    """

    def __init__(self, root: Outcome, *, settings: BeamSettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)
        self._settings = settings
        self._beam = [self.tree.root]
        self._born: list[Node] = []
        self._owed: dict[int, int] = {0: settings.branching}
        self._generation = 0

    def _parent(self) -> Node | None:
        node = self._next_member()
        if node is None and not self.in_flight:
            self._select()
            node = self._next_member()
        return node

    def _next_member(self) -> Node | None:
        """In turn, the one with the most children still owed."""
        owed = [node for node in self._beam if is_open(node) and self._owed[node.id] > 0]
        return max(owed, key=lambda node: self._owed[node.id], default=None)

    def _select(self) -> None:
        pool = [node for node in (*self._beam, *self._born) if is_open(node)]
        self._generation += 1
        tie = seed_from(self.seed, "generation", self._generation)
        pool.sort(key=lambda node: (-node.reward, seed_from(tie, node.id)))
        self._beam, self._born = pool[: self._settings.width], []
        self._owed = {node.id: self._settings.branching for node in self._beam}

    def _on_ask(self, trial: Trial) -> None:
        if trial.parent in self._owed:
            self._owed[trial.parent] -= 1

    def _on_abandon(self, node: Node) -> None:
        if node.parent is not None and node.parent.id in self._owed:
            self._owed[node.parent.id] += 1

    def _on_tell(self, node: Node) -> None:
        self._born.append(node)
