"""Evolutionary search on islands: tournaments choose parents, the worst make room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mcts.search.parent_search import ParentSearch, is_open
from mcts.search.port import SearchSettings, check_counts, check_repairs
from mcts.search.tree import Node
from mcts.search.trial import Outcome, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionSettings(SearchSettings):
    """islands: populations that evolve apart. population: members of each. tournament: how many
    members are drawn, of which the best becomes the parent. migration: after so many births on an
    island its best is copied to the next one. repairs: tries that a failed proposal's line gets.
    """

    name: ClassVar[str] = "evolution"
    islands: int = 3
    population: int = 8
    tournament: int = 3
    migration: int = 10
    repairs: int = 1

    def __post_init__(self) -> None:
        check_counts(
            islands=self.islands,
            population=self.population,
            tournament=self.tournament,
            migration=self.migration,
        )
        check_repairs(self.repairs)

    def begin(self, root: Outcome, *, seed: int) -> Evolution:
        return Evolution(root, settings=self, seed=seed)


class Evolution(ParentSearch):
    """A steady-state genetic search without crossover: a proposer takes one parent.

    Islands take turns; the baseline stands on each. A child settles on its parent's island, where
    the worst member, the older of two equals, makes room for it. Islands stand in a ring.
    """

    def __init__(self, root: Outcome, *, settings: EvolutionSettings, seed: int = 0) -> None:
        super().__init__(root, repairs=settings.repairs, seed=seed)
        self._settings = settings
        self._islands = [[self.tree.root] for _ in range(settings.islands)]
        self._births = [0] * settings.islands
        self._home: dict[int, int] = {}
        self._turn = 0
        self._last_asked: tuple[int, int] | None = None
        """The trial that last moved the turn, and where that was before."""

    def _parent(self) -> Node | None:
        """The winner of a tournament on the first island in turn that has an open member."""
        for step in range(len(self._islands)):
            at = (self._turn + step) % len(self._islands)
            members = [node for node in self._islands[at] if is_open(node)]
            if members:
                self._turn = at
                return self._tournament(members)
        return None

    def _tournament(self, members: list[Node]) -> Node:
        """Draws with replacement; the best of the drawn, the first among equals."""
        draws = (
            members[self._draw("tournament", count) % len(members)]
            for count in range(self._settings.tournament)
        )
        return max(draws, key=lambda node: node.reward)

    def _on_ask(self, trial: Trial) -> None:
        if trial.move.kind == "repair":
            self._home[trial.id] = self._home.get(trial.parent, 0)
            return
        self._home[trial.id] = self._turn
        self._last_asked = (trial.id, self._turn)
        self._turn = (self._turn + 1) % len(self._islands)

    def _on_abandon(self, node: Node) -> None:
        self._home.pop(node.id, None)
        if self._last_asked is not None and self._last_asked[0] == node.id:
            self._turn = self._last_asked[1]

    def _on_tell(self, node: Node) -> None:
        if node.state != "measured":
            return
        parent = node.parent.id if node.parent else 0
        at = self._home.setdefault(node.id, self._home.get(parent, 0))
        self._settle_on(at, node)
        self._births[at] += 1
        if self._births[at] % self._settings.migration == 0 and len(self._islands) > 1:
            best = max(self._islands[at], key=lambda member: (member.reward, member.id))
            self._settle_on((at + 1) % len(self._islands), best)

    def _settle_on(self, at: int, node: Node) -> None:
        island = self._islands[at]
        if node in island or not is_open(node):
            return
        island.append(node)
        if len(island) > self._settings.population:
            island.remove(min(island, key=lambda member: (member.reward, member.id)))
