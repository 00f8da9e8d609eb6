"""The nodes of a run as columns: what the page's tree, table and charts show of all at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from experiments.text.changes import changes, new_name
from experiments.views.report.outcomes import reason_of, status_of
from experiments.views.report.roofs import place_of
from experiments.views.report.text import line
from mcts.domain import Candidate
from mcts.journal.record import NodeRecord, Result


class Names:
    """Texts that occur often, each kept once and named by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        return list(self._numbers)


def columns(
    result: Result, details: Mapping[int, int], given_up: Collection[int] = ()
) -> dict[str, Any]:
    """One list per column, in the order of the nodes; null for what is not known.

    Times are microseconds. speedup, low, high and time are of the measurement that counts;
    `searched` is the search's speedup where a finalist was measured again. `status`, `methods` and
    `bound` are numbers into the lists of names beside them. `detail` is by `details`, the packed
    value of each node's page. `given_up` are the nodes below which nothing will be tried again.
    """
    by_id = {node.id: node for node in result.nodes}
    statuses, methods, bounds = Names(), Names(), Names()
    rows = [_row(node, by_id, statuses, methods, bounds) for node in result.nodes]
    table: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    table["given_up"] = [int(node.id in given_up) for node in result.nodes]
    table["detail"] = [details[node.id] for node in result.nodes]
    return table | {
        "status_names": statuses.all,
        "method_names": methods.all,
        "bound_names": bounds.all,
    }


def _row(
    node: NodeRecord,
    by_id: Mapping[int, NodeRecord],
    statuses: Names,
    methods: Names,
    bounds: Names,
) -> dict[str, Any]:
    verdict = node.verdict
    timing = verdict.timing if verdict is not None and verdict.measured else None
    parent = by_id[node.parent].candidate if node.parent is not None else None
    place = place_of(node)
    claimed = dict.fromkeys(node.candidate.methods) if node.candidate else ()
    return {
        "id": node.id,
        "parent": node.parent,
        "status": statuses(status_of(node)),
        "speedup": _round(timing.speedup if timing else None),
        "low": _round(timing.speedup_low if timing else None),
        "high": _round(timing.speedup_high if timing else None),
        "time": _round(timing.median_us if timing else None),
        "searched": _round(node.speedup),
        "confirmed": 0 if node.confirmed is None else 1,
        "visits": node.visits,
        "methods": [methods(line(name)) for name in claimed],
        "changed": "; ".join(changed_words(parent, node.candidate)),
        "reason": line(reason_of(node)),
        "same_as": node.duplicate_of,
        "bound": bounds(place.bound) if place else None,
        "intensity": _round(place.intensity if place else None),
        "rate": _round(place.rate if place else None),
    }


def changed_words(parent: Candidate | None, child: Candidate | None) -> list[str]:
    """What a node changed: ``VEC 1 → 4``, and what its code is called, or ``code``. Lines are
    counted on the node's page, since comparing sources takes long for thousands of nodes.
    """
    if parent is None or child is None:
        return []
    moved = changes(parent, child.model_copy(update={"source": parent.source})).words()
    words = [line(word, 80) for word in moved]
    if child.source == parent.source:
        return words
    return [*words, line(new_name(parent, child), 80).replace(";", ",") or "code"]


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
