"""Monte Carlo tree search as ask and tell: it sees ids, floats and moves, never a kernel."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from mcts.search.port import SearchSettings
from mcts.search.prune import is_closed, refresh_dead, wants_other_approach
from mcts.search.puct_constants import PuctConstants
from mcts.search.seeding import seed_from
from mcts.search.select import select
from mcts.search.tree import Node
from mcts.search.trial import Move, MoveKind, Outcome
from mcts.search.trial_book import TrialBook

_MAX_PATIENCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PuctSettings(PuctConstants, SearchSettings):
    """Settings of the tree search."""

    name: ClassVar[str] = "puct"

    def begin(self, root: Outcome, *, seed: int) -> Puct:
        return Puct(root, settings=self, seed=seed)

    def for_run_of(self, trials: int) -> Self:
        return replace(self, horizon=trials) if self.endgame and not self.horizon else self


class Puct(TrialBook):
    """Hands out trials and learns from their outcomes.

    `tell` may come in any order, from any number of trials in flight, and may be repeated: the
    tree depends only on the set of outcomes told. `ask` depends on the tree, the seed and the
    number of trials asked before, so that the same answers in the same order of asking and
    telling give the same tree. Not thread-safe.
    """

    def __init__(self, root: Outcome, *, settings: PuctSettings, seed: int = 0) -> None:
        super().__init__(root, seed=seed)
        self.settings = settings
        self._patience = self.settings.patience
        self._broken: list[int] = []
        self._best = self.tree.root

    def add_judged(self, parent: int, outcome: Outcome) -> int:
        id = super().add_judged(parent, outcome)
        # A dead end itself, it may still be the best below an ancestor that had been given up.
        for ancestor in self.tree.nodes[id].lineage():
            refresh_dead(ancestor, self.settings, patience=self._patience)
        return id

    def _next_parent(self) -> Node | None:
        return self._repairable() or self._opening() or self._select()

    def _move(self, parent: Node) -> Move:
        kind = self._kind_of_move(parent)
        anywhere = self.settings.expected_improvement
        far = anywhere if kind == "diversify" else self._is_opening(parent)
        return Move(kind, len(parent.children), far)

    def _kind_of_move(self, node: Node) -> MoveKind:
        if node.state == "failed":
            return "repair"
        if self.settings.expected_improvement:
            return "diversify" if self._run_stagnates() else "improve"
        return "diversify" if wants_other_approach(node, self.settings) else "improve"

    def _run_stagnates(self) -> bool:
        """True for every other trial while the run stagnates, those in flight among them."""
        since = self._asked - 1 - self._best.id
        stagnation = self.settings.stagnation
        return since - self.in_flight >= stagnation and (since - stagnation) % 2 == 0

    def _is_opening(self, node: Node) -> bool:
        return node.parent is None and len(node.children) < self.settings.far_proposals

    def _opening(self) -> Node | None:
        """The root, as long as it has not got its far proposals."""
        root = self.tree.root
        if not self._is_opening(root):
            return None
        return None if is_closed(root, self.settings, patience=self._patience) else root

    def _settled(self, node: Node) -> None:
        """What follows from a change at `node`: it may be a dead end, or a failure to repair."""
        refresh_dead(node, self.settings, patience=self._patience)
        best = self._best
        if node.reward > best.reward or (node.reward == best.reward and node.id < best.id):
            self._best = node
        if node.state == "failed" and self.settings.repair_at_once:
            heapq.heappush(self._broken, node.id)

    def _freed(self, node: Node, parent: Node) -> None:
        self._settled(parent)

    def _repairable(self) -> Node | None:
        """The oldest failure that is open; which one does not depend on the order of telling."""
        while self._broken:
            node = self.tree.nodes[heapq.heappop(self._broken)]
            if not is_closed(node, self.settings, patience=self._patience):
                return node
        return None

    def _select(self) -> Node | None:
        while True:
            node = select(
                self.tree.root,
                self.settings,
                seed=seed_from(self.seed, "tie", self._asked),
                patience=self._patience,
                pace=self.settings.pace(self._asked),
            )
            if node is not None or self._in_flight or self._patience > _MAX_PATIENCE:
                return node
            self._reopen()

    def _reopen(self) -> None:
        """Pruning must never give up the whole tree: with nothing left, be more patient."""
        self._patience *= 2
        for node in reversed(list(self.tree.nodes.values())):
            refresh_dead(node, self.settings, patience=self._patience)
