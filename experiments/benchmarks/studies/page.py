"""A comparison as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.studies.comparing import TARGET, Comparison
from experiments.benchmarks.studies.curves import RANDOM, Chart
from experiments.benchmarks.studies.svg import colours, curves_svg, forest_svg
from experiments.benchmarks.studies.tables import (
    COLUMNS,
    STANDING_COLUMNS,
    contest_row,
    measure_words,
    standing_row,
)
from experiments.text import pages


def page(found: Comparison, charts: Sequence[Chart], arms: Sequence[str]) -> str:
    """Warnings, tables, forests and anytime curves."""
    palette = colours(arms)
    forests = [
        forest_svg(
            [contest for contest in found.contests if contest.measure == measure],
            measure_words(measure),
            palette,
        )
        for measure in dict.fromkeys(contest.measure for contest in found.contests)
    ]
    return pages.page(
        "experiments.benchmarks.studies",
        "page.html.j2",
        found=found,
        columns=COLUMNS,
        contests=[
            (contest_row(contest), contest.p_holm < found.alpha) for contest in found.contests
        ],
        explanation=explanation(found),
        forests=pages.markup("".join(forests)),
        arms=[*arms, RANDOM],
        palette=palette,
        curves=pages.markup("".join(curves_svg(chart, palette) for chart in charts)),
        standing_columns=STANDING_COLUMNS,
        standings=[(standing_row(found, one), False) for one in found.standings],
    )


def explanation(found: Comparison) -> str:
    """How to read the table."""
    return (
        "Ratio: geometric mean over tasks and seeds, above 1 where the reference is better; 95 % "
        "interval by a bootstrap of tasks, then seeds. p: exact Wilcoxon signed-rank over pairs "
        f"(task, seed), then after Holm over these {len(found.contests)} tests; bold below "
        f"{found.alpha:g}. Effect: matched-pairs rank-biserial. A run that never reached the "
        f"{TARGET} counts as if it had right after its last evaluation."
    )
