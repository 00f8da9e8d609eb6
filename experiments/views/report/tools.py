"""Each micro-tool's advice in a run, held against what came of the variants that followed it."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import Any

from experiments.runs.memory.advice import firings, follow_ups
from experiments.views.report.text import line
from mcts.journal.record import Result


def tool_rows(result: Result) -> list[dict[str, Any]]:
    """Per tool: at how many nodes it spoke, how often a child followed it and what came of that.

    expected is the median gain it promised to those that followed, measured the median they came
    to, of the ones where both are known.
    """
    rows: dict[str, dict[str, Any]] = {}
    strengths: dict[str, list[float]] = defaultdict(list)
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    gains: dict[str, list[float]] = defaultdict(list)
    for firing in firings(result):
        row = rows.setdefault(firing.tool, _empty(firing.tool))
        row["spoke"] += 1
        strengths[firing.tool].append(firing.strength)
    for follow in follow_ups(result):
        row = rows[follow.tool]
        row["followed"] += 1
        row[follow.outcome] += 1
        if follow.gain is not None:
            gains[follow.tool].append(follow.gain)
            if follow.expected_gain is not None:
                pairs[follow.tool].append((follow.expected_gain, follow.gain))
    for tool, row in rows.items():
        row["strength"] = round(median(strengths[tool]), 3)
        row["gain"] = _median(gains[tool])
        row["expected"] = _median([expected for expected, _ in pairs[tool]])
        row["measured"] = _median([gain for _, gain in pairs[tool]])
        row["pairs"] = len(pairs[tool])
    return sorted(rows.values(), key=lambda row: (-row["followed"], -row["spoke"], row["tool"]))


def _empty(tool: str) -> dict[str, Any]:
    names = ("spoke", "followed", "improved", "neutral", "regressed", "failed")
    return {"tool": line(tool), **dict.fromkeys(names, 0)}


def _median(values: list[float]) -> float | None:
    return round(median(values), 4) if values else None
