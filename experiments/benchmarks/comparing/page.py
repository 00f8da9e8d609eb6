"""A comparison of runs as one self-contained HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.comparing.nouns import RunComparison
from experiments.benchmarks.comparing.rows import (
    DUEL_COLUMNS,
    RUN_COLUMNS,
    STANDING_COLUMNS,
    WORDS,
    by_task,
    duel_row,
    explanation,
    run_row,
    standing_row,
)
from experiments.benchmarks.studies.curves import Chart
from experiments.benchmarks.studies.svg import colours, curves_svg
from experiments.text import pages


def page(found: RunComparison, charts: Sequence[Chart]) -> str:
    """The page's HTML: curves, standings, wins and losses, and every run."""
    palette, count = colours(found.arms), len(found.entries)
    several = any(standing.runs > 1 for standing in found.standings)
    return pages.page(
        "experiments.benchmarks.comparing",
        "page.html.j2",
        title=f"{count} run{'' if count == 1 else 's'} of {', '.join(found.tasks)}",
        found=found,
        duel_columns=DUEL_COLUMNS,
        duels=[duel_row(duel) for duel in found.duels],
        explanation=explanation(found),
        palette=palette,
        curves=pages.markup("".join(curves_svg(chart, palette) for chart in charts)),
        standing_columns=STANDING_COLUMNS,
        standings=[standing_row(standing) for standing in found.standings] if several else [],
        words=WORDS,
        run_columns=RUN_COLUMNS,
        runs=[run_row(entry) for entry in by_task(found)],
    )
