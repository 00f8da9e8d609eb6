"""The tree: nodes by trial id, with the sums that selection reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

NodeState = Literal["pending", "measured", "failed"]
FIXED_POINT = 1 << 40
"""Rewards are summed as integers in units of 2^-40: integer sums do not depend on their order,
so neither does the tree on the order in which trials are told."""


class Node:
    """One variant. `visits`, `value_sum` and `best` cover the whole subtree, itself included.

    `pending` counts trials in flight in the subtree (the virtual loss). `dead` means that nothing
    below can be tried any more; `live` counts the children that are not dead.

    `ceiling` and `share` are selection's: its score of this node, in two parts, is at most these.
    Whatever may raise a score sets `ceiling` to infinity (see `mcts.search.select.Scorer`).
    """

    __slots__ = (
        "best", "ceiling", "children", "dead", "exhausted", "id", "live", "near_peak", "parent",
        "pending", "prior", "reward", "share", "state", "value_sum", "visits",
    )  # fmt: skip

    def __init__(self, id: int, parent: Node | None) -> None:
        self.id = id
        self.parent = parent
        self.children: list[Node] = []
        self.state: NodeState = "pending"
        self.reward = 0
        self.prior = 0.5
        self.visits = 0
        self.value_sum = 0
        self.best = 0
        self.pending = 0
        self.exhausted = False
        self.near_peak = False
        self.dead = False
        self.live = 0
        self.ceiling = math.inf
        self.share = 0.0

    def lineage(self) -> Iterator[Node]:
        """This node, its parent, and so on to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def mark_dead(self, dead: bool) -> None:
        """Set `dead`, and what the parent and selection make of it."""
        if dead != self.dead:
            self.dead = dead
            self.ceiling = math.inf
            if self.parent is not None:
                self.parent.live += -1 if dead else 1


class Tree:
    """Nodes by id. The root has id 0."""

    def __init__(self) -> None:
        self.root = Node(0, None)
        self.nodes: dict[int, Node] = {0: self.root}

    def __len__(self) -> int:
        return len(self.nodes)

    def attach(self, id: int, parent: int) -> Node:
        """Add a pending node; children stay in the order of their ids."""
        node = Node(id, self.nodes[parent])
        siblings = self.nodes[parent].children
        siblings.append(node)
        self.nodes[parent].live += 1
        if len(siblings) > 1 and siblings[-2].id > id:
            siblings.sort(key=lambda sibling: sibling.id)
        self.nodes[id] = node
        return node

    def detach(self, node: Node) -> Node:
        """Take a pending leaf out again, as if it had never been asked for; returns its parent."""
        parent = node.parent
        if parent is None or node.state != "pending":
            raise ValueError(f"node {node.id} is no pending child")
        parent.children.remove(node)
        parent.live -= 1
        del self.nodes[node.id]
        return parent
