"""Selection: PUCT from the root down, where making a further child is one of the choices."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

from mcts.search.prune import is_closed
from mcts.search.puct_constants import PuctConstants
from mcts.search.seeding import seed_from
from mcts.search.tree import FIXED_POINT, Node

NEWCOMER_PRIOR = 0.5
"""P of a child not yet made: what an average proposal is given."""
_ROUNDING = 1e-9
"""Far above the rounding of a score."""


def widening_bound(node: Node, constants: PuctConstants, *, pace: float = 1.0) -> int:
    """ceil(k * N^alpha): how many live children `node` may have (Auger et al. 2013).

    k is the root's or that of other nodes, N counts visits and trials in flight. Dead children do
    not count, so that a node ringed by failures is not walled in. A failed node has 1 at most: its
    repair; the root has room for its far proposals. `pace` shrinks k (see `PuctConstants.pace`),
    but every node may have a child.
    """
    if node.state == "failed":
        return 1
    at_root = node.parent is None
    factor = constants.widening_root if at_root else constants.widening_measured
    seen = node.visits + node.pending
    bound = math.ceil(pace * factor * math.pow(seen, constants.widening_exponent) - 1e-9)
    return max(bound, constants.far_proposals if at_root else 1)


def can_widen(node: Node, constants: PuctConstants, *, patience: int, pace: float = 1.0) -> bool:
    """Whether a further child of `node` may be asked for now."""
    if node.state == "pending" or node.live >= widening_bound(node, constants, pace=pace):
        return False
    return not is_closed(node, constants, patience=patience)


class Scorer:
    """PUCT scores against the best reward seen so far in the whole tree.

    score = Q + c * P * sqrt(N) / (1 + n) (Silver et al. 2017), with N the node's visits and n the
    child's. Q = exp((v - top) / temperature), where v mixes mean and best of the subtree: near a
    ceiling, variants worth telling apart differ by little in log speedup, and without this
    sharpening they would all look alike. Q is 1 for the best line and falls towards 0.

    A step down the tree must not cost an exponential for each child. For a child that no trial has
    come back to since it was last scored, Q can only have fallen: the best of the tree rises, and
    so does the share of the mean, which is at most the best. The Q and P / (1 + n) of then, kept in
    the child, bound its score of now, and a child whose bound is below another's score is passed
    over.

    Where a reward is above 1 (the speed of light was beaten), rewards are taken as shares of the
    best one, so that the temperature means what it does below.
    """

    def __init__(
        self, root: Node, constants: PuctConstants, *, seed: int, patience: int, pace: float
    ) -> None:
        self._constants, self._seed, self._patience, self._pace = constants, seed, patience, pace
        self._top = root.best / FIXED_POINT
        grown = root.visits / (root.visits + constants.mean_after) if constants.mean_after else 1.0
        self._mean_share = (1 - constants.best_weight) * grown
        self._exploration = constants.exploration * pace
        self._temperature = constants.temperature * max(1.0, self._top)

    def first(self, node: Node, besides: Container[Node] = ()) -> Node | None:
        """The best of the live settled children and, for a further child, of the node itself."""
        mean_share, exploration, exp = self._mean_share, self._exploration, math.exp
        best_share, top, temperature = 1 - mean_share, self._top, self._temperature
        root_of_seen = math.sqrt(node.visits + node.pending)
        reach = exploration * root_of_seen
        tied: list[Node] = []
        most, passed = -math.inf, -_ROUNDING  # a score is positive
        for child in node.children:
            if child.ceiling + reach * child.share < passed:
                continue
            if child.dead or child.state == "pending":
                child.ceiling = -math.inf
                continue
            if child in besides:
                continue
            seen = child.visits + child.pending
            mean = child.value_sum / (seen * FIXED_POINT)
            value = mean_share * mean + best_share * child.best / FIXED_POINT
            child.ceiling = q = exp((value - top) / temperature)
            child.share = child.prior / (1 + seen)
            score = q + exploration * child.prior * root_of_seen / (1 + seen)
            if score > most:
                most, tied, passed = score, [child], score - _ROUNDING
            elif score == most:
                tied.append(child)
        if node not in besides:
            score = self.newcomer(node, root_of_seen)
            if score >= most and self._can_widen(node):
                tied = [*tied, node] if score == most else [node]
        return tied[0] if len(tied) == 1 else min(tied, key=self._tie, default=None)

    def ranked(self, node: Node) -> Iterator[Node]:
        """All that `first` chooses from, the best first."""
        passed: list[Node] = []
        while (option := self.first(node, passed)) is not None:
            yield option
            passed.append(option)

    def newcomer(self, node: Node, root_of_seen: float) -> float:
        """Score of a child of `node` not yet made: expected to be worth what `node` is worth.

        It competes with the children there are, so that a good node goes on being widened and a
        worse one is passed through (first-play urgency). Children made so far count as its visits.
        """
        q = math.exp((node.reward / FIXED_POINT - self._top) / self._temperature)
        explored = self._exploration * NEWCOMER_PRIOR * root_of_seen
        return q + explored / (1 + len(node.children))

    def _can_widen(self, node: Node) -> bool:
        return can_widen(node, self._constants, patience=self._patience, pace=self._pace)

    def _tie(self, node: Node) -> int:
        return seed_from(self._seed, node.id)


def select(
    root: Node, constants: PuctConstants, *, seed: int, patience: int, pace: float = 1.0
) -> Node | None:
    """The node to widen next, or None when every open node waits for a trial in flight.

    At each node a further child, where the widening bound allows one, competes with the children
    there are; turns back where nothing below can be widened now. Ties are broken by `seed`, so
    that equal nodes are not always taken in the order they were made. `pace` in [0, 1] scales
    exploration and widening.
    """
    scorer = Scorer(root, constants, seed=seed, patience=patience, pace=pace)
    node: Node | None = root
    while node is not None:
        option = scorer.first(node)
        if option is node:
            return node
        node = option
    return _turning_back(root, scorer)


def _turning_back(root: Node, scorer: Scorer) -> Node | None:
    """The same where the first way down ends at a node whose children are all in flight."""
    path = [(root, scorer.ranked(root))]
    while path:
        node, options = path[-1]
        option = next(options, None)
        if option is None:
            path.pop()
        elif option is node:
            return node
        else:
            path.append((option, scorer.ranked(option)))
    return None
