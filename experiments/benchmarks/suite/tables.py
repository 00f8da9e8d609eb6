"""A suite in tables: for the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from experiments.benchmarks.suite.folder import Plan
from experiments.benchmarks.suite.metrics import THRESHOLDS, Scores, Summary, summarize
from experiments.benchmarks.suite.outcome import Outcome
from experiments.text.quantities import clock

if TYPE_CHECKING:
    from rich.table import Table

PAPER = "Ouyang et al., KernelBench, 2025, arXiv:2502.10517"
_FIGURES = ("over eager", "95 % interval", "over compile")
_TOOK = ("trials", "cost", "tokens", "time")
_SHOWN_STATUS = {"unfair": "not counted", "failed": "no kernel"}
_STYLES = {"correct": "green", "failed": "red", "error": "bold red", "unfair": "yellow"}


def _of_eager(name: str) -> Callable[[Outcome], Any]:
    return lambda outcome: getattr(outcome.eager, name, None)


def _of_compiled(name: str) -> Callable[[Outcome], Any]:
    return lambda outcome: getattr(outcome.compiled, name, None)


COLUMNS: Mapping[str, Callable[[Outcome], Any]] = {
    **{name: attrgetter(name) for name in ("level", "number")},
    "problem": attrgetter("name"),
    "status": attrgetter("status"),
    "speedup_eager": _of_eager("speedup"),
    "eager_low": _of_eager("low"),
    "eager_high": _of_eager("high"),
    "speedup_compile": _of_compiled("speedup"),
    "compile_low": _of_compiled("low"),
    "compile_high": _of_compiled("high"),
    "compile_not_measured": attrgetter("not_compiled"),
    "time_us": _of_eager("time_us"),
    "eager_us": _of_eager("baseline_us"),
    "compile_us": _of_compiled("baseline_us"),
    **{name: attrgetter(f"spent.{name}") for name in ("evaluations", "cost_usd", "tokens")},
    "seconds": attrgetter("spent.seconds"),
    **{name: attrgetter(name) for name in ("hardware", "kernel", "message")},
}
"""The columns of `results.csv`."""


def csv_text(outcomes: Sequence[Outcome]) -> str:
    """One row for each problem that is done; speedups are baseline time over kernel time."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([of(outcome) for of in COLUMNS.values()] for outcome in outcomes)
    return text.getvalue()


def document(plan: Plan, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything: settings, figures over all, one object for each problem."""
    return {
        "format": 1,
        "metrics_of": PAPER,
        "settings": plan.settings,
        "summary": {
            **summary_document(summarize(outcomes)),
            "not_run": [item.name for item in waiting(plan, outcomes)],
        },
        "problems": [outcome.model_dump(mode="json") for outcome in outcomes],
    }


def waiting(plan: Plan, outcomes: Iterable[Outcome]) -> list[Any]:
    """The chosen problems that have no outcome yet."""
    done = {outcome.key for outcome in outcomes}
    return [item for item in plan.problems if item.key not in done]


def document_text(plan: Plan, outcomes: Sequence[Outcome]) -> str:
    return json.dumps(document(plan, outcomes), indent=2, ensure_ascii=False) + "\n"


def summary_document(summary: Summary) -> dict[str, Any]:
    """The metrics as JSON knows them."""
    return {
        **asdict(summary),
        "pass_rate": summary.pass_rate,
        "eager": _scores(summary.eager),
        "compiled": _scores(summary.compiled),
    }


def _scores(scores: Scores) -> dict[str, Any]:
    return {**asdict(scores), "fast": {f"{p:g}": value for p, value in scores.fast.items()}}


def problem_table(outcomes: Sequence[Outcome], *, wide: bool) -> Table:
    """A line for each problem; on a terminal that is not `wide`, without what it took."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("problem", overflow="fold", min_width=12)
    table.add_column("status", no_wrap=True)
    for title in (*_FIGURES, *(_TOOK if wide else ())):
        table.add_column(title, justify="right", no_wrap=True)
    for outcome in outcomes:
        gain = outcome.eager
        table.add_row(
            Text(outcome.name),
            Text(status_text(outcome), style=_STYLES[outcome.status]),
            f"{gain.speedup:.2f}x" if gain else "",
            f"{gain.low:.2f} to {gain.high:.2f}" if gain else "",
            _compile_cell(outcome),
            *(_took(outcome) if wide else ()),
        )
    return table


def _took(outcome: Outcome) -> tuple[str, str, str, str]:
    spent = outcome.spent
    return (
        str(spent.evaluations) if spent.evaluations else "",
        cost_cell(outcome),
        f"{spent.tokens:,}" if spent.tokens is not None else "",
        clock(spent.seconds) if spent.evaluations else "",
    )


def _compile_cell(outcome: Outcome) -> str:
    if outcome.compiled is not None:
        return f"{outcome.compiled.speedup:.2f}x"
    return "n/a" if outcome.status == "correct" else ""


def metrics_table(summary: Summary) -> Table:
    """A line for each metric, over each baseline."""
    from rich.table import Table

    both = (summary.eager, summary.compiled)
    table = Table(box=None, pad_edge=False)
    table.add_column("speedup", no_wrap=True)
    for scores in both:
        table.add_column(f"over {scores.over}", justify="right", no_wrap=True)
    table.add_row("problems", *(str(scores.problems) for scores in both))
    for p in THRESHOLDS:
        table.add_row(f"fast_{p:g}", *(share(scores.fast.get(p)) for scores in both))
    table.add_row("geomean of correct", *(times(scores.geomean_correct) for scores in both))
    table.add_row("geomean of all *", *(times(scores.geomean_all) for scores in both))
    return table


def remarks(plan: Plan, outcomes: Sequence[Outcome], summary: Summary) -> list[str]:
    """What stands below the tables: reasons, what is counted and how, and what it took."""
    lines = []
    if summary.pass_rate is not None:
        lines.append(
            f"correct: {summary.correct} of {summary.counted} problems ({summary.pass_rate:.0%}); "
            "measured and confirmed by the judge, the problem's own model not counted"
        )
    if summary.unfair:
        lines.append(
            f"refused by the task gate and not counted: {len(summary.unfair)} "
            f"({', '.join(summary.unfair)})"
        )
    if summary.errors:
        lines.append(f"counted as failed because of an error: {summary.errors}")
    if left := waiting(plan, outcomes):
        lines.append(f"not run yet: {len(left)} of {len(plan.problems)}; not counted")
    lines.append("fast_p: share that is correct and more than p times as fast (KernelBench)")
    lines.append("* a problem without a correct kernel as 1.0")
    if unmeasured := summary.counted - summary.compiled.problems:
        lines.append(
            f"over torch.compile {unmeasured} of the correct {_are(unmeasured)} left out: n/a"
        )
    took = [f"{summary.evaluations} trials", clock(summary.seconds)]
    if summary.tokens is not None:
        took.append(f"{summary.tokens:,} tokens")
    if summary.cost_usd is not None:
        took.append(money(summary.cost_usd))
    lines.append(f"in all: {', '.join(took)}")
    if summary.unpriced:
        lines.append(
            f"not in that: what {summary.unpriced} repl{'y' if summary.unpriced == 1 else 'ies'} "
            "cost, whose price nobody knows; --price MODEL=IN,OUT gives it"
        )
    return lines


def reasons(outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
    """Names of problems with what is to be said of each."""
    found = []
    for outcome in outcomes:
        if outcome.message:
            found.append((outcome.name, outcome.message))
        if outcome.not_compiled:
            found.append((outcome.name, f"over torch.compile n/a: {outcome.not_compiled}"))
        found += [(outcome.name, f"note: {note}") for note in outcome.notes]
    return found


def status_text(outcome: Outcome) -> str:
    """The status as tables show it."""
    return _SHOWN_STATUS.get(outcome.status, outcome.status)


def cost_cell(outcome: Outcome) -> str:
    """``$0.1234``, with a + where there was more; nothing if no cost is known."""
    cost = outcome.spent.cost_usd
    return "" if cost is None else f"{money(cost)}{'+' if outcome.spent.unpriced else ''}"


def money(cost_usd: float) -> str:
    return f"${cost_usd:.4f}"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def plain(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON knows them: paths and the like as text, nouns as objects."""
    found: dict[str, Any] = json.loads(json.dumps(mapping, default=_as_json))
    return found


def _as_json(value: object) -> object:
    from pydantic import BaseModel

    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
