"""Where the time of a run's trials went, stage by stage."""

from __future__ import annotations

from typing import Any

from experiments.text.stages import shares, stage_words
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
