"""Which lines of a tree the search has given up: nothing below them will be tried again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from mcts.errors import JournalError
from mcts.journal.record import outcome_of
from mcts.journal.runlog import DAMAGES, as_started_now
from mcts.ports import Event
from mcts.search.backup import settle
from mcts.search.catalogue import searches
from mcts.search.prune import is_closed
from mcts.search.puct_constants import PuctConstants
from mcts.search.tree import Tree


def given_up(events: Iterable[Event]) -> frozenset[int]:
    """Ids of the nodes that are pruned with all that is below them, by the run's own constants.

    Leaves that nothing was ever to grow from (duplicates, replies without code) are none of them.
    Empty for searches other than the tree search, which prune nothing, and where there was nothing
    left to try anywhere: then no line was given up for another. Raises JournalError if
    the journal is damaged.
    """
    told: dict[int, Mapping[str, Any]] = {}
    asked: dict[int, int] = {}
    barren: set[int] = set()
    settings: PuctConstants | None = None
    try:
        for event in events:
            payload = event.payload
            match event.kind:
                case "started":
                    settings = _constants_of(as_started_now(payload))
                case "asked":
                    asked[payload["trial"]] = payload["parent"]
                case "no_moves":
                    barren.add(asked[payload["trial"]])
                case "told":
                    told[payload["trial"]] = payload
        if settings is None or 0 not in told:
            return frozenset()
        tree = _tree_of(told, barren)
        never = {id for id in told if not told[id]["expandable"] and not tree.nodes[id].children}
        return _dead(tree, settings) - never
    except DAMAGES as error:
        raise JournalError(f"the run's journal is damaged: {error}") from error


_DOUBLINGS = 20


def _constants_of(started: Mapping[str, Any]) -> PuctConstants | None:
    """The constants as they were; those that an older version had besides are of no use here.

    None for a search other than the tree search and its variants.
    """
    kinds = {kind.__name__: kind for kind in searches().values()}
    kind = kinds.get(started["search"])
    if kind is None or not issubclass(kind, PuctConstants):
        return None
    known = {constant.name for constant in fields(PuctConstants)}
    written = started["settings"]
    return PuctConstants(**{name: value for name, value in written.items() if name in known})


def _tree_of(told: Mapping[int, Mapping[str, Any]], barren: set[int]) -> Tree:
    tree = Tree()
    settle(tree.root, outcome_of(told[0]))
    for id in sorted(told.keys() - {0}):
        settle(tree.attach(id, told[id]["parent"]), outcome_of(told[id]))
    for id in barren & tree.nodes.keys():
        tree.nodes[id].exhausted = True
    return tree


def _dead(tree: Tree, settings: PuctConstants) -> frozenset[int]:
    """As the search decides it: where it would give up everything, it becomes more patient."""
    patience = settings.patience
    for _ in range(_DOUBLINGS):
        dead: set[int] = set()
        for node in sorted(tree.nodes.values(), key=lambda node: -node.id):
            below = all(child.id in dead for child in node.children)
            if below and is_closed(node, settings, patience=patience):
                dead.add(node.id)
        if tree.root.id not in dead:
            return frozenset(dead)
        patience *= 2
    return frozenset()
