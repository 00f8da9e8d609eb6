"""Backup: what a trial's start and end do to the nodes above it."""

from __future__ import annotations

import math

from mcts.search.tree import FIXED_POINT, Node
from mcts.search.trial import Outcome


def settle(node: Node, outcome: Outcome) -> None:
    """Write an outcome into a pending node and carry visit and reward up to the root."""
    _write(node, outcome)
    _add_visit(node, virtual_loss=0)


def add_virtual_loss(node: Node) -> None:
    """A trial begins at `node`: its virtual loss on the whole line keeps others from following."""
    ancestor: Node | None = node
    while ancestor is not None:
        ancestor.pending += 1
        ancestor = ancestor.parent


def remove_virtual_loss(node: Node) -> None:
    """Undo `add_virtual_loss`, without a visit."""
    for ancestor in node.lineage():
        ancestor.pending -= 1
        ancestor.ceiling = math.inf


def back_up(node: Node, outcome: Outcome) -> None:
    """The trial is told: its virtual loss goes, its visit and reward count for the whole line."""
    _write(node, outcome)
    _add_visit(node, virtual_loss=1)


def _write(node: Node, outcome: Outcome) -> None:
    node.state = outcome.kind
    node.reward = round(outcome.reward * FIXED_POINT)
    node.prior = outcome.prior
    node.exhausted = not outcome.expandable
    node.near_peak = outcome.near_peak


def _add_visit(node: Node, *, virtual_loss: int) -> None:
    """Add a visit and its reward to the whole line, and take its virtual loss away."""
    reward = node.reward
    ancestor: Node | None = node
    while ancestor is not None:
        ancestor.pending -= virtual_loss
        ancestor.visits += 1
        ancestor.value_sum += reward
        if reward > ancestor.best:
            ancestor.best = reward
        ancestor.ceiling = math.inf
        ancestor = ancestor.parent
