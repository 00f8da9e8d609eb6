"""A comparison as rows: for the terminal, for CSV, for the page."""

from __future__ import annotations

from experiments.benchmarks.studies.comparing import (
    BUDGET,
    LENGTH,
    TARGET,
    Comparison,
    Contest,
    Standing,
)
from experiments.benchmarks.studies.contest_tables import contest_table, detectable_text, win_text
from experiments.text.quantities import p_text
from experiments.text.tables import Column, Fitted, fitted

_CONTESTS = (
    Column("against", "name"),
    Column("ratio"),
    Column("95 % interval"),
    Column("p", spare=3),
    Column("p (Holm)"),
    Column("effect", spare=4),
    Column("win/tie/loss", spare=1),
    Column("p over tasks", spare=5),
    Column("would see", spare=2),
)
_STANDINGS = (
    Column("task", "name"),
    Column("arm", "name"),
    Column("speedups", "words"),
    Column("reached target", spare=2),
    Column("evaluations to target", spare=1),
    Column("failed", spare=3),
)
_DRAWN = (
    Column("task", "name"),
    Column("arm", "name"),
    Column("speedups", "words"),
    Column("trials", spare=2),
    Column("missing", spare=1),
    Column("failed", spare=3),
)
"""Of standings on recorded expansions."""
COLUMNS = ("by", *(column.title for column in _CONTESTS))


def standing_columns(found: Comparison) -> tuple[str, ...]:
    """The titles over what `standing_row` returns."""
    return tuple(column.title for column in _standing_columns(found))


def _standing_columns(found: Comparison) -> tuple[Column, ...]:
    drawn = any(standing.missing is not None for standing in found.standings)
    return _DRAWN if drawn else _STANDINGS


def measure_words(found: Comparison, measure: str) -> str:
    """What a measure compares, in words."""
    if measure == TARGET:
        return "unique evaluations to target"
    if measure == LENGTH:
        return f"{found.counted} in all"
    return "speedup at the budget" if measure == BUDGET else f"speedup at {measure} {found.counted}"


def contest_row(found: Comparison, contest: Contest) -> tuple[str, ...]:
    """The cells under `COLUMNS`."""
    return (
        measure_words(found, contest.measure),
        contest.arm,
        f"{contest.ratio:.3f}",
        f"{contest.low:.3f} to {contest.high:.3f}",
        p_text(contest.p),
        p_text(contest.p_holm),
        f"{contest.effect:+.2f}",
        win_text(contest),
        p_text(contest.p_tasks),
        detectable_text(contest),
    )


def standing_row(found: Comparison, standing: Standing) -> tuple[str, ...]:
    """The cells under `standing_columns`."""
    speedups = ", ".join(
        f"{value:.2f}x at {'budget' if measure == BUDGET else measure}"
        for measure, value in standing.speedups.items()
    )
    if standing.missing is not None:
        progress = f"{standing.trials:.2f}", f"{standing.missing:.2f}"
    else:
        median = standing.median_to_target
        length = next(facts.length for facts in found.tasks if facts.name == standing.task)
        after = f"{median:g}" if median is not None else f"over {length}"
        progress = f"{standing.reached:.0%} of {standing.runs}", after
    return standing.task, standing.arm, speedups, *progress, f"{standing.failed:.1f}"


def contest_tables(found: Comparison, *, width: int) -> list[Fitted]:
    """One per measure, for a terminal; what is clear after Holm stands out."""
    measures = dict.fromkeys(contest.measure for contest in found.contests)
    return [_contest_table(found, measure, width) for measure in measures]


def _contest_table(found: Comparison, measure: str, width: int) -> Fitted:
    return contest_table(
        [contest for contest in found.contests if contest.measure == measure],
        _CONTESTS,
        lambda contest: contest_row(found, contest)[1:],
        alpha=found.alpha,
        width=width,
        title=f"{measure_words(found, measure)}: {found.reference} against each arm",
    )


def standing_table(found: Comparison, *, width: int) -> Fitted:
    """Each arm on each task, for a terminal."""
    return fitted(
        _standing_columns(found),
        [standing_row(found, standing) for standing in found.standings],
        width=width,
        title=f"task by task (geometric means and {_averages(found)} over seeds)",
    )


def _averages(found: Comparison) -> str:
    return "means" if _standing_columns(found) is _DRAWN else "medians"
