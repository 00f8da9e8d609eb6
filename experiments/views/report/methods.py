"""What the methods brought in a run: by the nodes that claim them, and by taking them out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from experiments.text import worth as worth_text
from experiments.views.report.text import line
from mcts.domain import Timing
from mcts.journal.record import NodeRecord, Result


def claimed_rows(result: Result, path: Iterable[int]) -> list[dict[str, Any]]:
    """Per method: the nodes that claim it, and how they stand against their parents; `path` are
    the nodes on the way to the best.

    faster and slower mean that the 95 % intervals of the two times do not overlap. gain is the
    median of parent's time over node's time, of the measured ones. Nodes claim several methods at
    once: this is what went along with a method, not what it caused.
    """
    by_id = {node.id: node for node in result.nodes}
    best_path = set(path)
    rows: dict[str, dict[str, Any]] = {}
    gains: dict[str, list[float]] = defaultdict(list)
    for node in result.nodes[1:]:
        if node.candidate is None or node.kind == "duplicate":
            continue
        fate, gain = _against_parent(node, by_id)
        for method in dict.fromkeys(node.candidate.methods):
            row = rows.setdefault(method, _empty(method))
            row["nodes"] += 1
            row[fate] += 1
            row["on_best_path"] = row["on_best_path"] or node.id in best_path
            if gain is not None:
                gains[method].append(gain)
    for method, row in rows.items():
        row["gain"] = round(median(gains[method]), 4) if gains[method] else None
    return sorted(rows.values(), key=lambda row: (-(row["gain"] or 0.0), row["method"]))


def _empty(method: str) -> dict[str, Any]:
    counts = {"nodes": 0, "faster": 0, "even": 0, "slower": 0, "failed": 0}
    return {"method": line(method), **counts, "gain": None, "on_best_path": False}


def _against_parent(node: NodeRecord, by_id: Mapping[int, NodeRecord]) -> tuple[str, float | None]:
    before = _timing(by_id[node.parent]) if node.parent is not None else None
    after = _timing(node)
    if after is None:
        return "failed", None
    if before is None:
        return "even", None
    gain = before.median_us / after.median_us
    if after.high_us < before.low_us:
        return "faster", gain
    return ("slower" if after.low_us > before.high_us else "even"), gain


def _timing(node: NodeRecord) -> Timing | None:
    evaluation = node.evaluation
    return evaluation.timing if evaluation is not None and evaluation.measured else None


def ablation_rows(result: Result) -> list[dict[str, Any]]:
    """Per method that was taken out of a variant again: what it is worth there, with its proof."""
    return [
        {
            "node": node,
            "method": line(found.method),
            "worth": worth_text.worth_text(found),
            "gain": found.gain,
            "low": found.gain_low,
            "high": found.gain_high,
            "text": worth_text.gain_text(found),
            "realised": worth_text.cells(node, found)[4],
            "by": worth_text.removal_text(found),
            "note": line(found.note, 300),
        }
        for node, found in worth_text.attributed(result.nodes)
    ]
