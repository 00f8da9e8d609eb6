"""The progress curve of a run: in which order its trials ended, and what was spent by then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mcts.journal.record import NodeRecord
from mcts.journal.spending import Receipts, seconds_of
from mcts.ports import Event

_JUDGED = frozenset({"measured", "confirmed", "profiled", "broken"})


@dataclass(frozen=True, slots=True)
class Point:
    """When a node was told: `elapsed_s` of the wall clock, None if that is not known, and the
    US dollars and seconds of judging that the run had taken by then."""

    node: int
    elapsed_s: float | None
    cost_usd: float
    judged_s: float


def progress_of(events: Iterable[Event]) -> list[Point]:
    """One point per node in the order they were told; trials that came to no node count too."""
    points: list[Point] = []
    cost, judged_s, receipts = Decimal(0), 0.0, Receipts()
    for event in events:
        payload = event.payload
        cost += receipts.take(event.kind, payload).cost
        if event.kind in _JUDGED:
            judged_s += seconds_of(payload)
        elif event.kind == "told":
            elapsed = _number(payload.get("elapsed_s"))
            points.append(Point(int(payload["trial"]), elapsed, float(cost), judged_s))
    return points


def progress_without_journal(nodes: Iterable[NodeRecord]) -> list[Point]:
    """The curve as far as the nodes alone tell it: in their order, with no clock."""
    points: list[Point] = []
    cost, judged_s = Decimal(0), 0.0
    for node in nodes:
        cost += node.spending.cost
        judged_s += node.spending.gpu_s
        points.append(Point(node.id, None, float(cost), judged_s))
    return points


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None
