"""A comparison as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 9px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}
tr.clear td{font-weight:600}
.plots{display:flex;flex-wrap:wrap;gap:12px}.plots svg{border:1px solid #ddd;max-width:100%;
height:auto}.scroll{overflow-x:auto}
.warning{background:#fff4e0;border-left:4px solid #d98e04;padding:.4rem .8rem;margin:.4rem 0}
.key span{margin-right:1.2rem;white-space:nowrap}.key i{display:inline-block;width:1.6em;height:3px;
vertical-align:middle;margin-right:.4em}
"""


def page(found: Comparison, charts: Sequence[Chart], arms: Sequence[str]) -> str:
    """Warnings, tables, forests and anytime curves."""
    palette = colours(arms)
    title = f"Study {found.study}: {found.reference} against the others"
    measures = list(dict.fromkeys(contest.measure for contest in found.contests))
    forests = [
        forest_svg(
            [contest for contest in found.contests if contest.measure == measure],
            measure_words(measure),
            palette,
        )
        for measure in measures
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(found.question)}</p>" if found.question else "",
        *(f'<p class="warning">{escape(words)}</p>' for words in found.warnings),
        f"<h2>{escape(found.reference)} against each arm</h2>",
        _table(
            COLUMNS,
            [(contest_row(contest), contest.p_holm < found.alpha) for contest in found.contests],
        ),
        f"<p>{escape(explanation(found))}</p>",
        f'<div class="plots">{"".join(forests)}</div>',
        "<p>Right of 1 the reference is better. Thick: interval over seeds, for these tasks; thin: "
        "over tasks and seeds.</p>",
        "<h2>Anytime</h2>",
        _key(palette, [*arms, RANDOM]),
        f'<div class="plots">{"".join(curves_svg(chart, palette) for chart in charts)}</div>',
        "<p>Median over seeds of the best variant so far, by its recorded time, with a band from "
        "the lower to the upper quartile.</p>",
        "<h2>Task by task</h2>",
        _table(STANDING_COLUMNS, [(standing_row(found, one), False) for one in found.standings]),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"{''.join(body)}</body></html>\n"
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


def _table(columns: Sequence[str], rows: Iterable[tuple[Sequence[str], bool]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = [
        f"<tr{' class=clear' if clear else ''}>"
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row, clear in rows
    ]
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _key(palette: dict[str, str], arms: Sequence[str]) -> str:
    entries = "".join(
        f'<span><i style="background:{palette[arm]}"></i>{escape(arm)}</span>' for arm in arms
    )
    return f'<p class="key">{entries}</p>'
