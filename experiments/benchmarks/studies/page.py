"""A comparison as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.studies.comparing import TARGET, Comparison
from experiments.benchmarks.studies.curves import RANDOM, Chart
from experiments.benchmarks.studies.statistics import MOST_EXACT, WOULD_SEE
from experiments.benchmarks.studies.svg import colours, curves_svg, forest_svg
from experiments.benchmarks.studies.tables import (
    COLUMNS,
    contest_row,
    measure_words,
    standing_columns,
    standing_row,
)
from experiments.text import pages


def page(found: Comparison, charts: Sequence[Chart], arms: Sequence[str]) -> str:
    """Warnings, tables, forests and anytime curves."""
    palette = colours(arms)
    forests = [
        forest_svg(
            [contest for contest in found.contests if contest.measure == measure],
            measure_words(found, measure),
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
            (contest_row(found, contest), contest.p_holm < found.alpha)
            for contest in found.contests
        ],
        explanation=explanation(found),
        forests=pages.markup("".join(forests)),
        arms=[*arms, *((RANDOM,) if _with_random(charts) else ())],
        palette=palette,
        curves=pages.markup("".join(curves_svg(chart, palette, _along(found)) for chart in charts)),
        standing_columns=standing_columns(found),
        standings=[(standing_row(found, one), False) for one in found.standings],
    )


def _along(found: Comparison) -> str:
    """What the curves' axis counts."""
    return "unique evaluations" if found.counted == "evaluations" else found.counted


def _with_random(charts: Sequence[Chart]) -> bool:
    return any(curve.arm == RANDOM for chart in charts for curve in chart.curves)


def explanation(found: Comparison) -> str:
    """How to read the table."""
    if any(contest.measure == TARGET for contest in found.contests):
        short = (
            f"A run that never reached the {TARGET} counts as if it had right after the last "
            "evaluation that it was given, whether it used that or ended early."
        )
    else:
        short = "A run that ended early keeps the best that it had."
    few = all(contest.pairs <= MOST_EXACT for contest in found.contests)
    test = "exact Wilcoxon signed-rank" if few else "Wilcoxon signed-rank"
    return (
        "Ratio: geometric mean over tasks and seeds, above 1 where the reference is better; 95 % "
        f"interval by a bootstrap of tasks, then seeds. p: {test} over pairs "
        f"(task, seed), then after Holm over these {len(found.contests)} tests; bold below "
        f"{found.alpha:g}. p over tasks: of one value per task, not corrected. Effect: "
        f"matched-pairs rank-biserial. Win, tie, loss: the reference's, pair by pair. {WOULD_SEE} "
        f"{short}"
    )
