"""Which candidates failed, how, and how often the same was said of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from experiments.views.report.text import line
from mcts.domain import Evaluation
from mcts.journal.record import NodeRecord
from mcts.loop.progress import status_words

MESSAGES = 5
NODES = 8
_DETAIL = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)


def status_of(node: NodeRecord) -> str:
    """What became of a node, in words: ``measured``, ``compile failed``, ``not confirmed``..."""
    if node.kind == "duplicate":
        return "duplicate"
    if node.kind == "rejected" or node.evaluation is None:
        return "no candidate"
    if node.kind == "failed":
        return status_text(node.evaluation)
    if node.confirmed is not None and not node.confirmed.measured:
        return "not confirmed"
    return "measured"


def status_text(evaluation: Evaluation) -> str:
    """``compile failed``, ``refused (side_stream)``"""
    status, space, cheat = status_words(evaluation).partition(" ")
    return status.replace("_", " ") + space + cheat


def reason_of(node: NodeRecord) -> str:
    """Why it is no result, or none to hand back; empty for one that is."""
    if node.kind == "duplicate":
        return f"same as node {node.duplicate_of}"
    if node.confirmed is not None and not node.confirmed.measured:
        return f"{status_text(node.confirmed)}: {node.confirmed.message}"
    if node.verdict is not None and node.verdict.measured and node.verdict.held_back:
        return f"held back, slower on {', '.join(node.verdict.held_back)}"
    return "" if node.kind == "measured" else node.reason


def failure_rows(nodes: Iterable[NodeRecord]) -> list[dict[str, Any]]:
    """Per kind how many, a few of its nodes, and what was said most; the most frequent first.

    Messages that differ only in numbers count as one.
    """
    members: dict[str, list[NodeRecord]] = defaultdict(list)
    for node in nodes:
        if (status := status_of(node)) not in ("measured", "duplicate"):
            members[status].append(node)
    ordered = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "kind": kind,
            "count": len(failed),
            "nodes": [node.id for node in failed[:NODES]],
            "messages": _messages(failed),
        }
        for kind, failed in ordered
    ]


def _messages(failed: list[NodeRecord]) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    first: dict[str, NodeRecord] = {}
    for node in failed:
        key = _DETAIL.sub("#", line(reason_of(node)))
        counts[key] += 1
        first.setdefault(key, node)
    return [
        {"text": line(reason_of(first[key])), "count": count, "node": first[key].id}
        for key, count in counts.most_common(MESSAGES)
        if key
    ]
