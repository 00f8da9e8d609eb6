"""Dead ends: which nodes get no more children, and which subtrees hold nothing to try.

All of it is a function of the tree's present state, never of its history, so that it does not
depend on the order in which trials were told.
"""

from __future__ import annotations

from mcts.search.puct_constants import PuctConstants
from mcts.search.tree import Node


def is_closed(node: Node, constants: PuctConstants, *, patience: int) -> bool:
    """Whether `node` gets no further child, though its subtree may still be searched."""
    if node.exhausted or (node.near_peak and constants.stop_near_peak):
        return True
    if node.state == "failed":
        return bool(node.children) or failures(node) > constants.max_repairs
    return fruitless(node, enough=patience) >= patience


def failures(node: Node) -> int:
    """How many nodes failed in a row, from `node` upward: the length of its broken line."""
    count = 0
    for ancestor in node.lineage():
        if ancestor.state != "failed":
            break
        count += 1
    return count


def fruitless(node: Node, *, enough: int | None = None) -> int:
    """How many of the latest settled children in a row stayed at or below their parent, counted up
    to `enough`.

    Rewards are flat inside the noise, so a plain comparison is a comparison beyond noise.
    """
    count, reward = 0, node.reward
    for child in reversed(node.children):
        if child.best > reward or count == enough:
            break
        if child.state != "pending":
            count += 1
    return count


def wants_other_approach(node: Node, constants: PuctConstants) -> bool:
    """Whether the next child of a measured node should be structurally different.

    From the moment the node stagnates, every other child: those in flight count as made.
    """
    since = fruitless(node) - constants.stagnation
    if since < 0:
        return False
    in_flight = sum(child.state == "pending" for child in node.children)
    return (since + in_flight) % 2 == 0


def refresh_dead(node: Node, constants: PuctConstants, *, patience: int) -> None:
    """Recompute `dead` from `node` upward, as far as it changes."""
    for ancestor in node.lineage():
        dead = (
            ancestor.state != "pending"
            and not ancestor.live
            and is_closed(ancestor, constants, patience=patience)
        )
        if dead == ancestor.dead and ancestor is not node:
            return
        ancestor.mark_dead(dead)
