"""A comparison of one-step arms as tables, for the terminal and as CSV."""

from __future__ import annotations

from experiments.benchmarks.one_step.nouns import ArmFigures, StepComparison, StepContest
from experiments.benchmarks.studies.contest_tables import contest_table, detectable_text, win_text
from experiments.benchmarks.studies.statistics import WOULD_SEE
from experiments.text.quantities import p_text
from experiments.text.tables import Column, Fitted, fitted

_ARMS = (
    Column("arm", "name"),
    Column("steps", spare=3),
    Column("right"),
    Column("failed"),
    Column("unusable", spare=1),
    Column("improved"),
    Column("kept gain (95 %)", "words"),
    Column("gain where right (95 %)", "words", spare=2),
    Column("best", spare=4),
)
_CONTESTS = (
    Column("against", "name"),
    Column("by", "name"),
    Column("ratio"),
    Column("95 % interval"),
    Column("p", spare=3),
    Column("p (Holm)"),
    Column("win/tie/loss", spare=1),
    Column("p over problems", spare=4),
    Column("would see", spare=2),
)


def arm_table(found: StepComparison, *, width: int) -> Fitted:
    """What each arm came to."""
    rows = [_arm_row(arm) for arm in found.arms]
    title = f"{found.parents} parents of {found.problems} problems"
    return fitted(_ARMS, rows, width=width, title=title)


def step_contest_table(found: StepComparison, *, width: int) -> Fitted:
    """The reference against each arm."""
    return contest_table(
        found.contests, _CONTESTS, _contest_row, alpha=found.alpha, width=width,
        title=f"{found.reference} against each arm",
    )  # fmt: skip


def explanation(found: StepComparison) -> str:
    """How to read the tables."""
    return (
        "Kept gain: what a search gains that keeps the better of parent and child, 1 where a reply "
        "failed. Ratio: geometric mean over problems and their pairs, above 1 if "
        f"{found.reference} is better; of failures the difference of shares, below 0 if it is "
        "better. 95 % interval by a bootstrap of problems, then of pairs. p: exact Wilcoxon "
        "signed-rank over pairs (parent, reply), of failures the exact test of McNemar; then after "
        f"Holm over these {len(found.contests)} tests, bold below {found.alpha:g}. "
        f"{WOULD_SEE}"
    )


def _arm_row(arm: ArmFigures) -> tuple[str, ...]:
    return (
        arm.arm,
        str(arm.steps),
        str(arm.right),
        str(arm.failed),
        str(arm.rejected + arm.same),
        f"{arm.improved:.0%}",
        _interval(arm.kept_gain),
        _interval(arm.gain) if arm.gain is not None else "none",
        f"{arm.best:.2f}",
    )


def _contest_row(contest: StepContest) -> tuple[str, ...]:
    failures = contest.measure == "failures"
    digits = "{:+.1%}" if failures else "{:.3f}"
    return (
        contest.arm,
        contest.measure,
        digits.format(contest.ratio),
        f"{digits.format(contest.low)} to {digits.format(contest.high)}",
        p_text(contest.p),
        p_text(contest.p_holm),
        win_text(contest),
        p_text(contest.p_tasks) if contest.p_tasks is not None else "",
        "" if failures else detectable_text(contest),
    )


def _interval(found: tuple[float, float, float]) -> str:
    return f"{found[0]:.3f} ({found[1]:.3f} to {found[2]:.3f})"
