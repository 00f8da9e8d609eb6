"""Backup: what a trial's start and end do to the nodes above it."""

from __future__ import annotations

import math

from mcts.search.tree import FIXED_POINT, Node
from mcts.search.trial import Outcome


def settle(node: Node, outcome: Outcome) -> None:
    """Write an outcome into a pending node and carry visit and reward up to the root."""
    _write(node, outcome)
    _carry(node, landed=0)


def depart(node: Node) -> None:
    """A trial leaves for `node`: a virtual loss on the whole line keeps others from following."""
    ancestor: Node | None = node
    while ancestor is not None:
        ancestor.pending += 1
        ancestor = ancestor.parent


def recall(node: Node) -> None:
    """Undo `depart`, without a visit."""
    for ancestor in node.lineage():
        ancestor.pending -= 1
        ancestor.ceiling = math.inf


def arrive(node: Node, outcome: Outcome) -> None:
    """The trial is back: the virtual loss goes, the visit and its reward stay."""
    _write(node, outcome)
    _carry(node, landed=1)


def _write(node: Node, outcome: Outcome) -> None:
    node.state = outcome.kind
    node.reward = round(outcome.reward * FIXED_POINT)
    node.prior = outcome.prior
    node.exhausted = not outcome.expandable
    node.near_peak = outcome.near_peak


def _carry(node: Node, *, landed: int) -> None:
    """A visit and its reward for the whole line, less `landed` trials in flight."""
    reward = node.reward
    ancestor: Node | None = node
    while ancestor is not None:
        ancestor.pending -= landed
        ancestor.visits += 1
        ancestor.value_sum += reward
        if reward > ancestor.best:
            ancestor.best = reward
        ancestor.ceiling = math.inf
        ancestor = ancestor.parent
