"""Dead ends: which nodes get no more children, and which subtrees hold nothing to try.

All of it is a function of the tree's present state, never of its history, so that it does not
depend on the order in which trials were told.
"""

from __future__ import annotations

from mcts.settings import SearchSettings
from mcts.tree import Node


def is_closed(node: Node, settings: SearchSettings, *, patience: int) -> bool:
    """Whether `node` gets no further child, though its subtree may still be searched."""
    if node.exhausted:
        return True
    if node.state == "failed":
        return len(node.children) >= settings.max_repairs
    return _stagnated(node, patience)


def _stagnated(node: Node, patience: int) -> bool:
    """Whether the last `patience` settled children all stayed at or below their parent.

    Rewards are flat inside the noise, so a plain comparison is a comparison beyond noise.
    """
    settled = node.settled_children
    if len(settled) < patience:
        return False
    return all(child.best <= node.reward for child in settled[-patience:])


def refresh_dead(node: Node, settings: SearchSettings, *, patience: int) -> None:
    """Recompute `dead` from `node` upward, as far as it changes."""
    for ancestor in node.lineage():
        dead = (
            ancestor.state != "pending"
            and all(child.dead for child in ancestor.children)
            and is_closed(ancestor, settings, patience=patience)
        )
        if dead == ancestor.dead and ancestor is not node:
            return
        ancestor.dead = dead
