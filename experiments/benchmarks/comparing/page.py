"""A comparison of runs as one HTML page that needs nothing else: no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from experiments.benchmarks.comparing.nouns import RunComparison
from experiments.benchmarks.comparing.rows import (
    DUEL_COLUMNS,
    RUN_COLUMNS,
    STANDING_COLUMNS,
    WORDS,
    by_task,
    duel_row,
    explanation,
    run_row,
    standing_row,
)
from experiments.benchmarks.studies.curves import Chart
from experiments.benchmarks.studies.svg import colours, curves_svg

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b636b;--line:#d9dde1;--page:#fff;
--note:#fff4e0}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3abb3;--line:#3a4149;--page:#15181b;
--note:#3a2f16}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1180px;
margin:1.5rem auto;padding:0 1rem}
h1{font-size:1.4rem;line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}
.soft{color:var(--soft);max-width:46rem}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px 3px 0;border-bottom:1px solid var(--line);text-align:right;
white-space:nowrap}
th{color:var(--soft);font-weight:600}.word{text-align:left}
.scroll{overflow-x:auto}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:12px}
.plots svg{background:#fff;border:1px solid var(--line);border-radius:6px;max-width:100%;
height:auto}
.note{background:var(--note);border-left:4px solid #d98e04;padding:.4rem .8rem;margin:.4rem 0;
overflow-wrap:anywhere}
.key span{margin-right:1.2rem;display:inline-block}.key i{display:inline-block;width:1.6em;
height:3px;vertical-align:middle;margin-right:.4em}
@media print{body{margin:0}.plots svg{break-inside:avoid}}
"""


def page(found: RunComparison, charts: Sequence[Chart]) -> str:
    """Curves, standings, wins and losses, and every run."""
    palette = colours(found.arms)
    title = _title(found)
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f'<p class="note">{escape(words)}</p>' for words in found.warnings]
    if found.duels:
        parts += [
            f"<h2>{escape(found.reference)} against</h2>",
            _table(DUEL_COLUMNS, [duel_row(duel) for duel in found.duels], words=1),
        ]
    parts += [f'<p class="soft">{escape(explanation(found))}</p>']
    if charts:
        plots = "".join(curves_svg(chart, palette) for chart in charts)
        parts += [
            "<h2>Best so far</h2>",
            _key(palette, found.arms),
            f'<div class="plots">{plots}</div>',
            '<p class="soft">The best variant so far, as the search measured it, after each '
            "distinct candidate. Of several runs the line is the median and the band reaches from "
            "the lower to the upper quartile; a run that ended earlier stays where it ended. The "
            "line across is the best that any run of the task saw; what lies below the axis runs "
            "along it.</p>",
        ]
    if any(standing.runs > 1 for standing in found.standings):
        rows = [standing_row(standing) for standing in found.standings]
        parts += ["<h2>Arms, over their runs</h2>", _table(STANDING_COLUMNS, rows, words=WORDS)]
    rows = [run_row(entry) for entry in by_task(found)]
    parts += ["<h2>Runs</h2>", _table(RUN_COLUMNS, rows, words=3)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _title(found: RunComparison) -> str:
    count = len(found.entries)
    return f"{count} run{'' if count == 1 else 's'} of {', '.join(found.tasks)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    """Without the columns that no row has anything for; the first `words` of them hold text."""
    shown = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    kinds = {at: ' class="word"' if at < words else "" for at in shown}
    head = "".join(f"<th{kinds[at]}>{escape(columns[at])}</th>" for at in shown)
    body = "".join(
        f"<tr>{''.join(f'<td{kinds[at]}>{escape(row[at])}</td>' for at in shown)}</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _key(palette: dict[str, str], arms: Sequence[str]) -> str:
    entries = "".join(
        f'<span><i style="background:{palette[arm]}"></i>{escape(arm)}</span>' for arm in arms
    )
    return f'<p class="key">{entries}</p>'
