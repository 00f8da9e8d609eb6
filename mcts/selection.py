"""Selection: from the root, widen where the bound allows it, else follow PUCT."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mcts.pruning import is_closed
from mcts.seeding import seed_from
from mcts.settings import SearchSettings
from mcts.tree import FIXED_POINT, Node


def widening_bound(node: Node, settings: SearchSettings) -> int:
    """ceil(k * N^alpha): how many live children `node` may have (Auger et al. 2013).

    k depends on the node's state, N counts visits and trials in flight. Dead children do not
    count, so that a node ringed by failures is not walled in.
    """
    if node.parent is None:
        factor = settings.widening_root
    elif node.state == "failed":
        factor = settings.widening_failed
    else:
        factor = settings.widening_measured
    seen = node.visits + node.pending
    return math.ceil(factor * math.pow(seen, settings.widening_exponent) - 1e-9)


def can_widen(node: Node, settings: SearchSettings, *, patience: int) -> bool:
    """Whether a further child of `node` may be asked for now."""
    if node.state == "pending" or is_closed(node, settings, patience=patience):
        return False
    live = sum(not child.dead for child in node.children)
    return live < widening_bound(node, settings)


def puct_score(child: Node, parent: Node, settings: SearchSettings) -> float:
    """Q + c * P * sqrt(N_parent) / (1 + n), Q in [0, 1] mixing the subtree's mean and best."""
    best = child.best / FIXED_POINT
    q = (1 - settings.best_weight) * child.mean + settings.best_weight * best
    parent_seen = parent.visits + parent.pending
    seen = child.visits + child.pending
    return q + settings.exploration * child.prior * math.sqrt(parent_seen) / (1 + seen)


def select(root: Node, settings: SearchSettings, *, seed: int, patience: int) -> Node | None:
    """The node to widen next, or None when every open node waits for a trial in flight.

    Walks down by PUCT and turns back where a subtree cannot be widened now. Ties are broken by
    `seed`, so that equal nodes are not always taken in the order they were made.
    """
    path: list[Iterator[Node]] = [iter((root,))]
    while path:
        node = next(path[-1], None)
        if node is None:
            path.pop()
        elif can_widen(node, settings, patience=patience):
            return node
        else:
            path.append(_ranked_children(node, settings, seed))
    return None


def _ranked_children(node: Node, settings: SearchSettings, seed: int) -> Iterator[Node]:
    """Live settled children, best score first; the order beyond the first is made only if asked."""
    scored = [
        (puct_score(child, node, settings), child)
        for child in node.children
        if child.state != "pending" and not child.dead
    ]
    if not scored:
        return
    top = max(score for score, _ in scored)
    tied = [child for score, child in scored if score == top]
    first = tied[0] if len(tied) == 1 else min(tied, key=lambda child: seed_from(seed, child.id))
    yield first
    rest = [(-score, seed_from(seed, child.id), child) for score, child in scored]
    for _, _, child in sorted(rest, key=lambda entry: entry[:2]):
        if child is not first:
            yield child
