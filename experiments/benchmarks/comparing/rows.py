"""A comparison of runs as rows of text: for the terminal and for the page."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from experiments.benchmarks.comparing.nouns import Duel, Entry, RunComparison, Standing
from experiments.text.spending import UNKNOWN, money_text

if TYPE_CHECKING:
    from rich.table import Table

RUN_COLUMNS = (
    "task", "arm", "run", "seed", "speedup", "95 % interval", "trials", "failed", "wall clock",
    "cost", "GPU",
)  # fmt: skip
STANDING_COLUMNS = ("task", "arm", "runs", "speedup", "from", "to", "tried", "failed", "cost")
DUEL_COLUMNS = ("against", "tasks", "ratio", "95 % interval", "win/tie/loss", "pairs")
_WIDE = 120
"""A terminal of so many columns or more has room for every figure of a run."""
_WIDE_ONLY = frozenset({"seed", "trials", "failed", "wall clock", "GPU"})
WORDS = len(("task", "arm"))
"""How many columns from the left hold words; the others hold figures."""


def run_row(entry: Entry) -> tuple[str, ...]:
    """The cells under `RUN_COLUMNS`."""
    run = entry.run
    return (
        entry.task,
        entry.arm,
        run.path,
        str(run.seed),
        f"{run.speedup:.2f}x" + ("" if run.confirmed else " ?"),
        f"{run.speedup_low:.2f} to {run.speedup_high:.2f}",
        str(run.evaluations),
        str(run.failed),
        f"{run.seconds:,.1f} s",
        _money(run.cost_usd, replies=run.replies),
        "" if run.gpu_s is None else f"{run.gpu_s:,.1f} s",
    )


def standing_row(standing: Standing) -> tuple[str, ...]:
    """The cells under `STANDING_COLUMNS`."""
    return (
        standing.task,
        standing.arm,
        str(standing.runs),
        f"{standing.speedup:.2f}x",
        f"{standing.low:.2f}",
        f"{standing.high:.2f}",
        f"{standing.evaluations:.0f}",
        f"{standing.failed:.1f}",
        _money(standing.cost_usd, replies=1) if standing.cost_usd != 0 else "",
    )


def duel_row(duel: Duel) -> tuple[str, ...]:
    """The cells under `DUEL_COLUMNS`."""
    interval = (
        f"{duel.low:.3f} to {duel.high:.3f}"
        if duel.low is not None and duel.high is not None
        else "not known"
    )
    return (
        duel.arm,
        str(len(duel.tasks)),
        f"{duel.ratio:.3f}",
        interval,
        f"{duel.wins}/{duel.ties}/{duel.losses}",
        f"{duel.pairs}, {'by seed' if duel.by_seed else 'each with each'}",
    )


def _money(amount: float | None, *, replies: int) -> str:
    """The cost; empty if no reply was paid for."""
    if replies == 0:
        return ""
    return UNKNOWN if amount is None else money_text(Decimal(str(amount)))


def explanation(found: RunComparison) -> str:
    """How to read the tables."""
    words = (
        "Speedups are those of each run's best kernel, confirmed unless a question mark says that "
        "it was measured once."
    )
    if found.duels:
        return (
            f"{words} Ratio: geometric mean over the common tasks, above 1 if {found.reference} is "
            "better. A win is an interval wholly above the other's; if the two overlap it is a "
            "tie. To tell ways of searching apart with a test, run a study."
        )
    if len(found.entries) > 1 and len(found.arms) == 1:
        return (
            f"{words} These runs search alike, so that they are one arm; to set one against "
            "another, name them: rooftree compare a=RUN b=RUN."
        )
    return words


def run_tables(found: RunComparison, *, width: int) -> list[Table]:
    """The tables of runs, of arms (if an arm has several runs) and of duels.

    On a narrow terminal the table of runs shows only their results and costs.
    """
    rows = [run_row(entry) for entry in by_task(found)]
    hidden = _WIDE_ONLY if width < _WIDE else frozenset()
    runs = _table("runs", RUN_COLUMNS, rows, words=3, hidden=hidden)
    tables = [runs]
    if any(standing.runs > 1 for standing in found.standings):
        rows = [standing_row(standing) for standing in found.standings]
        tables.append(_table("arms, over their runs", STANDING_COLUMNS, rows, words=WORDS))
    if found.duels:
        rows = [duel_row(duel) for duel in found.duels]
        tables.append(_table(f"{found.reference} against", DUEL_COLUMNS, rows, words=1))
    return tables


def by_task(found: RunComparison) -> list[Entry]:
    """The runs task by task, then arm by arm, then by seed."""
    return sorted(
        found.entries,
        key=lambda entry: (
            found.tasks.index(entry.task),
            found.arms.index(entry.arm),
            entry.run.seed,
        ),
    )


def _table(
    title: str,
    columns: tuple[str, ...],
    rows: list[tuple[str, ...]],
    *,
    words: int,
    hidden: frozenset[str] = frozenset(),
) -> Table:
    """A table without empty and `hidden` columns; the first `words` columns are text."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    filled = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    shown = [at for at in filled if columns[at] not in hidden]
    for at in shown:
        if at < words:
            table.add_column(columns[at], overflow="fold")
        else:
            table.add_column(columns[at], justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[at]) for at in shown))
    return table
