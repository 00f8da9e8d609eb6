"""Which nodes of a large tree are drawn: what is left out stands as a stub below its parent."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcts.journal.record import NodeRecord, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """What is folded away below one node. `best` is the greatest speedup in it, if any."""

    nodes: int
    failed: int
    best: float | None


@dataclass(frozen=True, slots=True)
class Folded:
    """The part of the tree that is drawn, and by drawn node what hides below it."""

    shown: tuple[NodeRecord, ...]
    hidden: Mapping[int, Stub]


def fold(result: Result, most: int) -> Folded:
    """Keep at most `most` boxes, stubs included: the path to the best in any case, then what the
    search found worth most visits; a few children of every node come before many of one, and what
    branches off the best path before what lies far from it.

    A stub stands for two nodes or more: one node takes no more room than its stub.
    """
    children: dict[int, list[NodeRecord]] = defaultdict(list)
    for node in result.nodes[1:]:
        children[node.parent or 0].append(node)
    sizes = _subtree_sizes(result.nodes)
    kept = _keep(result, children, most)
    for id in tuple(kept):
        left = [child for child in children[id] if child.id not in kept]
        if len(left) == 1 and sizes[left[0].id] == 1:
            kept.add(left[0].id)
    shown = tuple(node for node in result.nodes if node.id in kept)
    hidden = {}
    for id in kept:
        if left := [child for child in children[id] if child.id not in kept]:
            hidden[id] = _stub(left, children)
    return Folded(shown, hidden)


def _keep(result: Result, children: Mapping[int, list[NodeRecord]], most: int) -> set[int]:
    """Ids to draw; a stub below a drawn node counts as long as it hides anything."""
    kept = {node.id for node in result.path_to(result.best)}
    unseen = {id: sum(c.id not in kept for c in children[id]) for id in kept}
    boxes = len(kept) + sum(count > 0 for count in unseen.values())
    queue: list[_Rank] = []
    aside = dict.fromkeys(kept, 0)
    for id in kept:
        _offer(queue, [child for child in children[id] if child.id not in kept], aside=1)
    while queue:
        *_, parent, id = heapq.heappop(queue)
        more = 1 - (unseen[parent] == 1) + bool(children[id])
        if boxes + more > most:
            break
        boxes += more
        kept.add(id)
        unseen[parent] -= 1
        unseen[id], aside[id] = len(children[id]), aside[parent] + 1
        _offer(queue, children[id], aside=aside[id] + 1)
    return kept


_Rank = tuple[int, int, float, int, int]
_FAMILY, _STEPS = 4, 5
"""Children of one node, and steps aside from the best path, that come before any further ones."""


def _offer(queue: list[_Rank], siblings: Sequence[NodeRecord], *, aside: int) -> None:
    """Put children into the queue, by worth; the last two entries are the parent and the id."""
    for place, node in enumerate(sorted(siblings, key=_worth)):
        ring = place // _FAMILY + aside // _STEPS
        heapq.heappush(queue, (ring, *_worth(node), node.parent or 0, node.id))


def _worth(node: NodeRecord) -> tuple[int, float]:
    """The less the more worth seeing. Failures stand behind what worked, and duplicates last."""
    verdict = node.verdict
    visits = 0 if node.kind == "duplicate" else node.visits
    return (-visits, -((verdict.speedup if verdict else None) or 0.0))


def _subtree_sizes(nodes: Sequence[NodeRecord]) -> dict[int, int]:
    sizes = {node.id: 1 for node in nodes}
    for node in reversed(nodes):
        if node.parent is not None:
            sizes[node.parent] += sizes[node.id]
    return sizes


def _stub(roots: list[NodeRecord], children: Mapping[int, list[NodeRecord]]) -> Stub:
    nodes = failed = 0
    best: float | None = None
    stack = list(roots)
    while stack:
        node = stack.pop()
        stack += children[node.id]
        nodes += 1
        speedup = node.verdict.speedup if node.verdict else None
        failed += speedup is None
        if speedup is not None:
            best = max(best or 0.0, speedup)
    return Stub(nodes=nodes, failed=failed, best=best)
