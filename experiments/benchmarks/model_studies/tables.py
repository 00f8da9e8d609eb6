"""A comparison of searches with a model as tables, for the terminal and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.model_studies.comparing import FINAL, NEAR
from experiments.benchmarks.model_studies.nouns import (
    ArmFigures,
    ModelComparison,
    ModelContest,
    Outcome,
)
from experiments.benchmarks.studies.contest_tables import contest_table, detectable_text, win_text
from experiments.benchmarks.studies.statistics import WOULD_SEE
from experiments.text.quantities import p_text
from experiments.text.tables import Column, Fitted, fitted

_ARMS = (
    Column("arm", "name"),
    Column("runs", spare=5),
    Column("right"),
    Column("speedup (95 %)", "words"),
    Column("over torch.compile (95 %)", "words", spare=3),
    Column("faster", spare=4),
    Column("twice", spare=2),
    Column("near the best", "words"),
    Column("failed trials", spare=1),
)
_CONTESTS = (
    Column("against", "name"),
    Column("by", "name"),
    Column("ratio"),
    Column("95 % interval"),
    Column("p", spare=3),
    Column("p (Holm)"),
    Column("win/tie/loss", spare=1),
    Column("p over tasks", spare=4),
    Column("would see", spare=2),
)
_OUTCOMES = (
    Column("task", "name"),
    Column("arm", "name"),
    Column("speedup (95 %)", "words"),
    Column("over torch.compile", spare=1),
    Column("best so far", "words", spare=2),
    Column("near after", spare=3),
    Column("failed", spare=4),
)


def tables(found: ModelComparison, *, width: int) -> tuple[Fitted, ...]:
    """What each arm came to, in all and by level, the reference against each arm, and each task."""
    shown = [_arm_table(found, width)]
    shown += [
        _filled(_ARMS, [_arm_row(arm) for arm in arms], width=width, title=f"level {level} alone")
        for level, arms in found.by_level.items()
    ]
    if found.contests:
        shown.append(
            contest_table(
                found.contests, _CONTESTS, _contest_row, alpha=found.alpha, width=width,
                title=f"{found.reference} against each arm",
            )
        )  # fmt: skip
    rows = [_outcome_row(outcome) for outcome in found.outcomes]
    shown.append(_filled(_OUTCOMES, rows, width=width, title="task by task"))
    return tuple(shown)


def _filled(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int, title: str
) -> Fitted:
    """The table without the columns that say nothing in this study."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return fitted(
        [columns[at] for at in kept],
        [[row[at] for at in kept] for row in rows],
        width=width,
        title=title,
    )


def explanation(found: ModelComparison) -> str:
    """How to read the tables."""
    near = ""
    if found.near is not None:
        near = (
            f"Near the best: runs with a variant within {found.near:.0%} of the best recorded, "
            "and the median number of distinct variants evaluated until then; a run that never "
            "came there counts as if it had after its last trial. "
        )
    return (
        "Right: runs with a right variant, a faster one or not. "
        f"Speedup: of the winner after {found.trials} trials, measured again, 1 if nothing was "
        "faster; geometric mean over tasks and seeds, 95 % interval by a bootstrap of tasks, then "
        "seeds. "
        "Faster, twice: share of runs that are right and more than 1 and 2 times as fast (fast_p). "
        f"{near}p: exact Wilcoxon signed-rank over pairs (task, seed), then after Holm over these "
        f"{len(found.contests)} tests, bold below {found.alpha:g}. {WOULD_SEE}"
    )


def _arm_table(found: ModelComparison, width: int) -> Fitted:
    title = f"{found.trials} trials a run"
    rows = [_arm_row(arm) for arm in found.arms]
    return _filled(_ARMS, rows, width=width, title=title)


def _arm_row(arm: ArmFigures) -> tuple[str, ...]:
    compiled = ""
    if arm.compiled is not None:
        compiled = f"{_interval(arm.compiled)}, {arm.compiled_runs} of {arm.runs}"
    return (
        arm.arm,
        str(arm.runs),
        str(arm.right),
        _interval(arm.final) if arm.runs else "",
        compiled,
        f"{arm.fast.get(1.0, 0.0):.0%}",
        f"{arm.fast.get(2.0, 0.0):.0%}",
        _near(arm),
        f"{arm.failed} of {arm.trials}",
    )


def _contest_row(contest: ModelContest) -> tuple[str, ...]:
    by = contest.measure
    if by.isdigit():
        by = f"best after {by}"
    elif by == FINAL:
        by = "speedup"
    elif by == NEAR:
        by = "evaluations"
    return (
        contest.arm,
        by,
        f"{contest.ratio:.3f}",
        f"{contest.low:.3f} to {contest.high:.3f}",
        p_text(contest.p),
        p_text(contest.p_holm),
        win_text(contest),
        p_text(contest.p_tasks),
        detectable_text(contest),
    )


def _outcome_row(outcome: Outcome) -> tuple[str, ...]:
    speedup = f"{outcome.final:.2f}"
    if outcome.interval is not None:
        speedup += f" ({outcome.interval[0]:.2f} to {outcome.interval[1]:.2f})"
    return (
        outcome.task,
        outcome.arm,
        speedup,
        f"{outcome.compiled:.2f}" if outcome.compiled is not None else "",
        ", ".join(f"{value:.2f} at {at}" for at, value in outcome.at.items()),
        ", ".join("never" if at is None else str(at) for at in outcome.near),
        str(outcome.failed),
    )


def _interval(found: tuple[float, float, float]) -> str:
    return f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f})"


def _near(arm: ArmFigures) -> str:
    if arm.near is None or not arm.runs:
        return ""
    came, median = arm.near
    return f"{came} of {arm.runs}" + (f", after {median:g}" if median is not None else "")
