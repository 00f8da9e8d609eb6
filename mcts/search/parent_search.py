"""What all searches but the tree search share: repairs, and that each picks its own parents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from mcts.search.prune import failures
from mcts.search.seeding import seed_from
from mcts.search.tree import Node
from mcts.search.trial import Move, Outcome
from mcts.search.trial_book import TrialBook


class ParentSearch(TrialBook):
    """Trials with a parent each; what came of them is kept as a tree.

    A child that failed may be repaired: its line gets up to `repairs` further tries, each on what
    the one before it left behind, before the search turns to anything else. Where `_parent` finds
    nothing and no trial is out, the best node that is still open is taken, so that a search ends
    only once the proposer has nothing left anywhere.
    """

    def __init__(self, root: Outcome, *, repairs: int, seed: int) -> None:
        super().__init__(root, seed=seed)
        self._repairs = repairs
        self._broken: list[Node] = []

    def _next_parent(self) -> Node | None:
        node = self._repairable() or self._parent()
        if node is None and not self.in_flight:
            node = self._best_open(self.tree.nodes.values())
        return node

    def _move(self, parent: Node) -> Move:
        return Move("repair" if parent.state == "failed" else "improve", len(parent.children))

    @abstractmethod
    def _parent(self) -> Node | None:
        """The measured, open node to propose from next; None to wait for a trial in flight."""

    def _on_abandon(self, node: Node) -> None:
        """A trial came back without an answer; its node is out of the tree."""

    def _on_tell(self, node: Node) -> None:
        """A node was settled."""

    # What the searches need.

    def _draw(self, *purpose: int | str) -> int:
        """A number that depends on the seed, on how often was asked, and on the purpose."""
        return seed_from(self.seed, *purpose, self._asked)

    def _best_open(self, nodes: Iterable[Node]) -> Node | None:
        """The open node of the highest reward; ties are broken by the seed, anew at each ask."""
        pool = [node for node in nodes if is_open(node)]
        if not pool:
            return None
        top = max(node.reward for node in pool)
        tied = [node for node in pool if node.reward == top]
        tie = self._draw("tie")
        return min(tied, key=lambda node: seed_from(tie, node.id))

    # Repairs.

    def _settled(self, node: Node) -> None:
        if node.state == "failed" and not node.exhausted:
            self._broken.append(node)
        self._on_tell(node)

    def _freed(self, node: Node, parent: Node) -> None:
        if parent.state == "failed" and not parent.exhausted:
            self._broken.append(parent)
        self._on_abandon(node)

    def _repairable(self) -> Node | None:
        """The oldest broken line with a repair left; one repair of a line is out at a time."""
        while self._broken:
            node = self._broken.pop(0)
            if not node.exhausted and not node.children and failures(node) <= self._repairs:
                return node
        return None


def is_open(node: Node) -> bool:
    """Whether `node` was measured and may be proposed from."""
    return node.state == "measured" and not node.exhausted


def uniform(seed: int) -> float:
    """A number in [0, 1) from a seed of `seed_from`, which has 63 bits."""
    return seed / (1 << 63)
