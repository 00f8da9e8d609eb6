"""A comparison of suites in tables: for the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.benchmarks.studies.statistics import WOULD_SEE
from experiments.benchmarks.suite import tables
from experiments.benchmarks.suite.comparing import (
    ALPHA,
    NOISE,
    Comparison,
    Duel,
    result_of,
    speedup_of,
)
from experiments.benchmarks.suite.metrics import EAGER, THRESHOLDS, Scores
from experiments.benchmarks.suite.outcome import Gain, Outcome
from experiments.text.quantities import p_text
from experiments.text.tables import Column, Fitted, fitted

_PROBLEMS = (
    Column("problem", "name"),
    Column("suite", "name"),
    Column("status", "name"),
    Column("over eager"),
    Column("95 % interval", spare=2),
    Column("over compile", spare=1),
    Column("95 % interval", spare=4),
    Column("ratio", spare=3),
    Column("result", "name", spare=5),
    Column("trials", spare=7),
    Column("cost", spare=6),
)
_DUELS = (
    Column("over", "name"),
    Column("against", "name"),
    Column("problems", spare=3),
    Column("ratio"),
    Column("95 % interval"),
    Column("p", spare=4),
    Column("p (Holm)"),
    Column("effect", spare=5),
    Column("win/tie/loss", spare=2),
    Column("would see", spare=1),
)
_FAST_SPARE: Mapping[float, int] = {0.5: 4, 0.8: 3, 1.5: 2, 4.0: 1}
"""Which shares are left out first where room is short."""


def problem_table(found: Comparison, *, width: int) -> Fitted:
    """Each problem in each suite; ratio and result are the reference's against that suite, over
    eager PyTorch."""
    rows = [
        _problem_row(outcome, suite, None if suite == found.reference else ours)
        for at, ours in enumerate(found.outcomes[found.reference])
        for suite, outcome in ((label, each[at]) for label, each in found.outcomes.items())
    ]
    return fitted(_PROBLEMS, rows, width=width)


def _problem_row(outcome: Outcome, suite: str, ours: Outcome | None) -> tuple[str, ...]:
    return (
        outcome.name,
        suite,
        tables.status_text(outcome),
        *_gain_cells(outcome.eager),
        *_gain_cells(outcome.compiled),
        *_result_cells(ours, outcome),
        str(outcome.spent.evaluations or ""),
        tables.cost_cell(outcome),
    )


def _gain_cells(gain: Gain | None) -> tuple[str, str]:
    return (f"{gain.speedup:.2f}x", f"{gain.low:.2f} to {gain.high:.2f}") if gain else ("", "")


def _result_cells(ours: Outcome | None, theirs: Outcome) -> tuple[str, str]:
    if ours is None or (found := _against(ours, theirs)) is None:
        return "", ""
    return f"{found[0]:.3f}", found[1]


def _against(ours: Outcome, theirs: Outcome) -> tuple[float, str] | None:
    """Our speedup over theirs, and whether that is a win; None if one was not measured."""
    mine, its = speedup_of(ours, EAGER), speedup_of(theirs, EAGER)
    if mine is None or its is None:
        return None
    return mine.point / its.point, result_of(mine, its)


def duel_table(found: Comparison, *, width: int) -> Fitted:
    """A line for each suite and baseline; what is clear after Holm stands out."""
    from rich.text import Text

    rows = []
    for duel in found.duels:
        style = "bold" if duel.p_holm < ALPHA else ""
        rows.append([Text(cell, style=style) for cell in _duel_row(duel)])
    return fitted(_DUELS, rows, width=width, title=f"{found.reference} against")


def _duel_row(duel: Duel) -> tuple[str, ...]:
    return (
        duel.over,
        duel.suite,
        str(duel.problems),
        f"{duel.ratio:.3f}",
        f"{duel.low:.3f} to {duel.high:.3f}",
        p_text(duel.p),
        p_text(duel.p_holm),
        f"{duel.effect:+.2f}",
        f"{duel.wins}/{duel.ties}/{duel.losses}",
        f"{duel.detectable:g}x" if duel.detectable else "nothing",
    )


def score_table(found: Comparison, *, width: int) -> Fitted:
    """The metrics of each suite over the problems that are compared."""
    columns = (
        Column("over", "name"),
        Column("suite", "name"),
        Column("problems", spare=5),
        *(Column(f"fast_{p:g}", spare=_FAST_SPARE.get(p, 0)) for p in THRESHOLDS),
        Column("geomean of correct", spare=6),
        Column("geomean of all *"),
    )
    return fitted(columns, list(_score_rows(found)), width=width)


def _score_rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    both = {suite: (each.eager, each.compiled) for suite, each in found.summaries.items()}
    for at in range(2):
        for suite, scores in ((suite, each[at]) for suite, each in both.items()):
            if any(duel.over == scores.over for duel in found.duels):
                yield (scores.over, suite, *_score_cells(scores))


def _score_cells(scores: Scores) -> tuple[str, ...]:
    return (
        str(scores.problems),
        *(tables.share(scores.fast.get(p)) for p in THRESHOLDS),
        tables.times(scores.geomean_correct),
        tables.times(scores.geomean_all),
    )


def settings_table(found: Comparison, *, width: int) -> Fitted:
    """The settings that differ; empty cells for a suite that has none of that name."""
    columns = (
        Column("differs", "name"),
        *(Column(suite.label, "words") for suite in found.suites),
    )
    rows = [
        (name, *("" if value is None else _value_text(value) for value in values))
        for name, values in found.settings.items()
    ]
    return fitted(columns, rows, width=width)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def remarks(found: Comparison) -> list[str]:
    """What stands below the tables: how to read them, and what is left out."""
    lines = [
        f"Ratio: geometric mean over problems of {found.reference}'s speedup over the other's, "
        f"above 1 if {found.reference} is better; its interval is by bootstrap of the problems, p "
        "an exact signed-rank test over them. A problem without a correct kernel counts as 1.0, "
        "here and in the geometric mean of all (*). "
        f"A tie is two intervals that overlap, or a ratio within {NOISE:.0%}. {WOULD_SEE}"
    ]
    lines += [
        f"left out over {duel.over} against {duel.suite}, a correct kernel was not measured: "
        + ", ".join(duel.not_measured)
        for duel in found.duels
        if duel.not_measured
    ]
    lines += [f"left out: {item.problem} {item.why}" for item in found.left_out]
    if not found.settings:
        lines.append("the suites have the same settings")
    return lines


def document(found: Comparison) -> dict[str, Any]:
    """Everything, as JSON knows it."""
    return {
        "format": 1,
        "reference": found.reference,
        "alpha": ALPHA,
        "noise": NOISE,
        "duels": [duel.model_dump(mode="json") for duel in found.duels],
        "suites": [
            {
                "suite": suite.label,
                "folder": str(suite.path),
                "settings": suite.plan.settings,
                "summary": tables.summary_document(found.summaries[suite.label]),
                "problems": [
                    outcome.model_dump(mode="json") for outcome in found.outcomes[suite.label]
                ],
            }
            for suite in found.suites
        ],
        "settings_that_differ": {
            name: dict(zip((suite.label for suite in found.suites), values, strict=True))
            for name, values in found.settings.items()
        },
        "left_out": [item.model_dump(mode="json") for item in found.left_out],
        "warnings": found.warnings,
    }


def csv_text(found: Comparison) -> str:
    """A row for each problem and suite; `ratio` is the reference's speedup over the suite's."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["suite", *tables.COLUMNS, "ratio_eager", "result_eager"])
    reference = found.outcomes[found.reference]
    for label, outcomes in found.outcomes.items():
        for ours, outcome in zip(reference, outcomes, strict=True):
            pair = _against(ours, outcome) if label != found.reference else None
            cells = pair or ("", "")
            writer.writerow([label, *(of(outcome) for of in tables.COLUMNS.values()), *cells])
    return text.getvalue()
