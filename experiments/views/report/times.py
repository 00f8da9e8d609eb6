"""Where the time of a run's trials went, as a bar of its parts with their names."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.text.quantities import clock
from experiments.text.stages import percent, shares, stage_words
from experiments.views.report.text import line
from mcts.journal.record import Result

_COLOURED = frozenset(
    ("proposing", "waiting", "compiling", "verifying", "timing", "metering", "profiling",
     "judging", "confirming")
)  # fmt: skip
"""Stages with a colour in `charts.css`; others share one."""


def time_rows(result: Result) -> list[dict[str, Any]]:
    """A row per stage, the longest first; empty where there is nothing to tell apart."""
    return [
        {
            "stage": stage if stage in _COLOURED else "other",
            "words": line(stage_words(stage), 60),
            "seconds": round(result.stages[stage], 3),
            "share": round(share, 6),
        }
        for stage, share in shares(result.stages)
    ]


def time_bar(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a bar and its legend, in HTML; empty without rows."""
    if not rows:
        return ""
    total, at, parts = sum(row["seconds"] for row in rows), 0.0, []
    for row in rows:
        width = 100 * row["share"]
        title = html.escape(f"{row['words']}: {clock(row['seconds'])}")
        parts.append(
            f'<rect class="stage-{row["stage"]}" x="{at:.2f}%" width="{width:.2f}%" height="14">'
            f"<title>{title}</title></rect>"
        )
        at += width
    names = " ".join(
        f'<span class="stage"><i class="swatch stage-{row["stage"]}"></i>'
        f"{percent(row['share'])} {html.escape(row['words'])}</span>"
        for row in rows
    )
    return (
        '<h3>Where the time went</h3><svg class="bar stages" width="100%" height="14" '
        f'role="presentation">{"".join(parts)}</svg><p class="legend">{names}</p>'
        f'<p class="soft">Of the {clock(total)} of all trials together, which may be several at a '
        "time.</p>"
    )
