"""Backup: what a trial's start and end do to the nodes above it."""

from __future__ import annotations

from mcts.tree import FIXED_POINT, Node
from mcts.trial import Outcome


def settle(node: Node, outcome: Outcome) -> None:
    """Write an outcome into a pending node and carry visit and reward up to the root."""
    node.state = outcome.kind
    node.reward = round(outcome.reward * FIXED_POINT)
    node.prior = outcome.prior
    node.exhausted = not outcome.expandable
    node.near_peak = outcome.near_peak
    for ancestor in node.lineage():
        ancestor.visits += 1
        ancestor.value_sum += node.reward
        ancestor.best = max(ancestor.best, node.reward)


def depart(node: Node) -> None:
    """A trial leaves for `node`: a virtual loss on the whole line keeps others from following."""
    for ancestor in node.lineage():
        ancestor.pending += 1


def recall(node: Node) -> None:
    """Undo `depart`, without a visit."""
    for ancestor in node.lineage():
        ancestor.pending -= 1


def arrive(node: Node, outcome: Outcome) -> None:
    """The trial is back: the virtual loss goes, the visit and its reward stay."""
    recall(node)
    settle(node, outcome)
