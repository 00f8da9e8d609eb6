"""What the page shows without JavaScript, and on paper: the result, the facts, the first nodes."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.views.report.text import SOURCE_LIMIT, line, shown
from experiments.views.report.times import time_bar
from mcts.journal.record import RUNNING, NodeRecord, Result
from mcts.journal.summary import Provenance

ROWS = 100
"""Nodes in the table of a page without JavaScript."""
_UNFINISHED = (
    "This run is still going, or it ended without saying so. The page shows what it had done when "
    "the page was made; make it again with rooftree report, or go on with rooftree resume."
)


def header(run: Provenance, result: Result) -> str:
    """The page's title and one line on who measured what where."""
    notice = (
        f'<p class="notice" role="status">{escape(_UNFINISHED)}</p>'
        if result.stop_reason == RUNNING
        else ""
    )
    return (
        f'<header class="top"><h1>{_told(run.task)}</h1>'
        f'<p class="lead">Measured by {_told(run.evaluator)} on {_told(run.hardware)}, '
        f"proposed by {_told(run.proposer)}.</p>{notice}</header>"
    )


def overview(table: Mapping[str, Any], best: NodeRecord) -> str:
    """The best kernel beside the facts of the run."""
    run = _facts(table["facts"], table["times"])
    return f'<div class="overview">{_best(table, best)}{run}</div>'


def _best(table: Mapping[str, Any], best: NodeRecord) -> str:
    verdict = best.verdict
    timing = verdict.timing if verdict is not None else None
    if timing is None:
        return section("best", "Best kernel", "<p>Nothing has been measured.</p>")
    over = f", over {_told(timing.baseline)}" if timing.baseline != "baseline" else ""
    words = "".join(f"<li>{escape(word)}</li>" for word in table["best_words"])
    chips = "".join(f'<span class="chip">{escape(word)}</span> ' for word in table["changed"])
    return section(
        "best",
        "Best kernel",
        f'<p class="big">{timing.speedup:.2f}×</p>'
        f'<p class="soft">95 % interval {timing.speedup_low:.2f} to {timing.speedup_high:.2f}, '
        f"{timing.rounds} rounds, node {best.id}{over}</p>"
        f'<ul class="plain soft">{words}</ul>'
        f"{_bar(line(timing.baseline), timing.baseline_us, timing)}"
        f"{_bar('best', timing.median_us, timing)}"
        f"<h3>Changed against the baseline</h3><p>{chips or 'nothing'}</p>",
    )


def _bar(name: str, time_us: float, timing: Any) -> str:
    """A bar as an SVG: a style attribute would need a weaker content security policy."""
    share = 100 * time_us / max(timing.baseline_us, timing.median_us)
    kind = "best" if name == "best" else "base"
    return (
        f'<p class="bar-note">{escape(name)} {time_us:.2f} µs</p>'
        f'<svg class="bar" width="100%" height="10" role="presentation">'
        f'<rect class="bar-{kind}" width="{share:.1f}%" height="10" rx="4"></rect></svg>'
    )


def _facts(facts: Iterable[Sequence[str]], times: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return section("facts", "The run", f'<dl class="facts">{rows}</dl>{time_bar(times)}')


def best_source(best: NodeRecord) -> str:
    """The best candidate's tunables and source."""
    candidate = best.candidate
    if candidate is None:
        return ""
    tunables = ", ".join(f"{name} = {value}" for name, value in candidate.tunables.items())
    head = f'<p class="soft">Tunables: {_told(tunables, 600)}</p>' if tunables else ""
    source = escape(shown(candidate.source, SOURCE_LIMIT))
    code = f'<pre class="code scroll">{source}</pre>' if source else ""
    return section("source", "Best candidate", head + code or "It has neither source nor tunables.")


def first_nodes(table: Mapping[str, Any]) -> str:
    """The table of the first `ROWS` nodes."""
    nodes = table["nodes"]
    count = len(nodes["id"])
    path = set(table["path"])
    confirmed = any(nodes["confirmed"])
    titles = ["node", "parent", "speedup", "interval", "time, µs", "visits", "changed", "outcome"]
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(_row(nodes, at, path, confirmed) for at in range(min(count, ROWS)))
    note = f"The first {ROWS} of {count:,} nodes." if count > ROWS else f"All {count} nodes."
    return section(
        "nodes",
        "Nodes",
        f'<p class="soft">{note}</p><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>",
    )


def _row(nodes: Mapping[str, Any], at: int, path: set[int], confirmed: bool) -> str:
    status = nodes["status_names"][nodes["status"][at]]
    speedup, low, high = (nodes[name][at] for name in ("speedup", "low", "high"))
    twice = ", confirmed" if confirmed and nodes["confirmed"][at] and speedup is not None else ""
    reason = nodes["reason"][at]
    cells = [
        str(nodes["id"][at]),
        "" if nodes["parent"][at] is None else str(nodes["parent"][at]),
        "" if speedup is None else f"{speedup:.2f}×",
        "" if low is None else f"{low:.2f} to {high:.2f}",
        "" if nodes["time"][at] is None else f"{nodes['time'][at]:.2f}",
        str(nodes["visits"][at]),
        nodes["changed"][at],
        f"{status}{twice}{': ' if reason else ''}{reason}",
    ]
    kind = "path" if nodes["id"][at] in path else "" if speedup is not None else "failed"
    return f'<tr class="{kind}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'


def section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>{content}</section>'


def _told(text: str, limit: int = 200) -> str:
    return escape(line(text, limit))


def escape(text: str) -> str:
    return html.escape(text, quote=True)
