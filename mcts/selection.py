"""Selection: PUCT from the root down, where making a further child is one of the choices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter

from mcts.pruning import is_closed
from mcts.seeding import seed_from
from mcts.settings import SearchSettings
from mcts.tree import FIXED_POINT, Node

NEWCOMER_PRIOR = 0.5
"""P of a child not yet made: what an average proposal is given."""


def widening_bound(node: Node, settings: SearchSettings) -> int:
    """ceil(k * N^alpha): how many live children `node` may have (Auger et al. 2013).

    k is the root's or that of other nodes, N counts visits and trials in flight. Dead children do
    not count, so that a node ringed by failures is not walled in. A failed node has 1 at most: its
    repair; the root has room for its far proposals.
    """
    if node.state == "failed":
        return 1
    at_root = node.parent is None
    factor = settings.widening_root if at_root else settings.widening_measured
    seen = node.visits + node.pending
    bound = math.ceil(factor * math.pow(seen, settings.widening_exponent) - 1e-9)
    return max(bound, settings.far_proposals) if at_root else bound


def can_widen(node: Node, settings: SearchSettings, *, patience: int, live: int) -> bool:
    """Whether a further child of `node`, which has `live` ones, may be asked for now."""
    if node.state == "pending" or live >= widening_bound(node, settings):
        return False
    return not is_closed(node, settings, patience=patience)


class Scorer:
    """PUCT scores against the best reward seen so far in the whole tree.

    score = Q + c * P * sqrt(N) / (1 + n) (Silver et al. 2017), with N the node's visits and n the
    child's. Q = exp((v - top) / temperature), where v mixes mean and best of the subtree: near a
    ceiling, variants worth telling apart differ by little in log speedup, and without this
    sharpening they would all look alike. Q is 1 for the best line and falls towards 0.
    """

    def __init__(self, root: Node, settings: SearchSettings) -> None:
        self._top = root.best / FIXED_POINT
        grown = root.visits / (root.visits + settings.mean_after) if settings.mean_after else 1.0
        self._mean_share = (1 - settings.best_weight) * grown
        self._exploration, self._temperature = settings.exploration, settings.temperature

    def children(self, node: Node) -> tuple[list[tuple[float, Node]], int]:
        """Live settled children of `node`, each with the score of following it, and how many live.

        The innermost loop of the search: written out, so that a step down costs a microsecond or
        two for each child.
        """
        mean_share, exploration, exp = self._mean_share, self._exploration, math.exp
        best_share, top, temperature = 1 - mean_share, self._top, self._temperature
        root_of_seen = math.sqrt(node.visits + node.pending)
        scored, live = [], 0
        for child in node.children:
            if child.dead:
                continue
            live += 1
            if child.state == "pending":
                continue
            seen = child.visits + child.pending
            mean = child.value_sum / (seen * FIXED_POINT)
            value = mean_share * mean + best_share * child.best / FIXED_POINT
            q = exp((value - top) / temperature)
            scored.append((q + exploration * child.prior * root_of_seen / (1 + seen), child))
        return scored, live

    def newcomer(self, node: Node) -> float:
        """Score of a child of `node` not yet made: expected to be worth what `node` is worth.

        It competes with the children there are, so that a good node goes on being widened and a
        worse one is passed through (first-play urgency). Children made so far count as its visits.
        """
        q = math.exp((node.reward / FIXED_POINT - self._top) / self._temperature)
        seen = node.visits + node.pending
        explored = self._exploration * NEWCOMER_PRIOR * math.sqrt(seen)
        return q + explored / (1 + len(node.children))


def select(root: Node, settings: SearchSettings, *, seed: int, patience: int) -> Node | None:
    """The node to widen next, or None when every open node waits for a trial in flight.

    At each node a further child, where the widening bound allows one, competes with the children
    there are; turns back where nothing below can be widened now. Ties are broken by `seed`, so
    that equal nodes are not always taken in the order they were made.
    """
    scorer = Scorer(root, settings)

    def ranked(node: Node) -> Iterator[Node]:
        """Live settled children, and the node itself for a further child, the best first."""
        scored, live = scorer.children(node)
        if can_widen(node, settings, patience=patience, live=live):
            scored.append((scorer.newcomer(node), node))
        return _best_first(scored, seed)

    path = [(root, ranked(root))]
    while path:
        node, options = path[-1]
        option = next(options, None)
        if option is None:
            path.pop()
        elif option is node:
            return node
        else:
            path.append((option, ranked(option)))
    return None


_score = itemgetter(0)


def _best_first(scored: list[tuple[float, Node]], seed: int) -> Iterator[Node]:
    """By falling score; the order beyond the first is made only if it is asked for."""
    if not scored:
        return
    top = max(scored, key=_score)[0]
    tied = [node for score, node in scored if score == top]
    first = tied[0] if len(tied) == 1 else min(tied, key=lambda node: seed_from(seed, node.id))
    yield first
    rest = [(-score, seed_from(seed, node.id), node) for score, node in scored]
    for _, _, node in sorted(rest, key=lambda entry: entry[:2]):
        if node is not first:
            yield node
