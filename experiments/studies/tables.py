"""A comparison as rows: for the terminal, for CSV, for the page."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from experiments.studies.comparing import BUDGET, TARGET, Comparison, Contest, Standing

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = (
    "by", "against", "ratio", "95 % interval", "p", "p (Holm)", "effect", "win/tie/loss",
    "p over tasks", "would see",
)  # fmt: skip
STANDING_COLUMNS = ("task", "arm", "speedups", "reached target", "evaluations to target", "failed")


def measure_words(measure: str) -> str:
    """What a measure compares, in words."""
    if measure == TARGET:
        return "unique evaluations to target"
    return "speedup at the budget" if measure == BUDGET else f"speedup at {measure} evaluations"


def contest_row(contest: Contest) -> tuple[str, ...]:
    """The cells under `COLUMNS`."""
    return (
        measure_words(contest.measure),
        contest.arm,
        f"{contest.ratio:.3f}",
        f"{contest.low:.3f} to {contest.high:.3f}",
        _p(contest.p),
        _p(contest.p_holm),
        f"{contest.effect:+.2f}",
        f"{contest.wins}/{contest.ties}/{contest.losses}",
        _p(contest.p_tasks),
        f"{contest.detectable:g}x" if contest.detectable else "nothing",
    )


def standing_row(found: Comparison, standing: Standing) -> tuple[str, ...]:
    """The cells under `STANDING_COLUMNS`."""
    median = standing.median_to_target
    length = next(facts.length for facts in found.tasks if facts.name == standing.task)
    speedups = ", ".join(
        f"{value:.2f}x at {'budget' if measure == BUDGET else measure}"
        for measure, value in standing.speedups.items()
    )
    return (
        standing.task,
        standing.arm,
        speedups,
        f"{standing.reached:.0%} of {standing.runs}",
        f"{median:g}" if median is not None else f"over {length}",
        f"{standing.failed:.1f}",
    )


def _p(value: float) -> str:
    if value >= 0.001:
        return f"{value:.3f}"
    return f"{value:.0e}" if value >= 1e-20 else "<1e-20"


def contest_tables(found: Comparison) -> list[Table]:
    """One per measure, for a terminal; what is clear after Holm stands out."""
    from rich.table import Table

    tables: dict[str, Table] = {}
    for contest in found.contests:
        if contest.measure not in tables:
            table = Table(
                title=f"{measure_words(contest.measure)}: {found.reference} against each arm"
            )
            for at, column in enumerate(COLUMNS[1:]):
                table.add_column(column, justify="right" if at else "left")
            tables[contest.measure] = table
        clear = contest.p_holm < found.alpha
        row = contest_row(contest)[1:]
        tables[contest.measure].add_row(*row, style="bold" if clear else None)
    return list(tables.values())


def standing_table(found: Comparison) -> Table:
    from rich.table import Table

    table = Table(title="task by task (geometric means and medians over seeds)")
    for at, column in enumerate(STANDING_COLUMNS):
        table.add_column(column, justify="left" if at < 2 else "right")
    last = None
    for standing in found.standings:
        if last not in (None, standing.task):
            table.add_section()
        last = standing.task
        table.add_row(*standing_row(found, standing))
    return table


def as_csv(found: Comparison) -> str:
    """One line per contest, all numbers in full."""
    out = io.StringIO()
    names = ["study", "reference", *Contest.model_fields]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for contest in found.contests:
        writer.writerow(
            {"study": found.study, "reference": found.reference, **contest.model_dump()}
        )
    return out.getvalue()
