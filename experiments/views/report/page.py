"""The page, put together: what is seen without JavaScript, the data, and the scripts.

Everything a candidate or a model wrote is text: escaped by the template, in the data an inert JSON,
and put on the page by scripts that make text nodes alone. The content security policy forbids
everything but the page's own scripts and styles, by their hashes, and with trusted types every way
from text to markup.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codegen.plan_text import file_text
from experiments.text import pages
from experiments.text.quantities import clock
from experiments.text.stages import percent
from experiments.views.branching import Branches
from experiments.views.report import assets
from experiments.views.report.data import page_data
from experiments.views.report.text import SOURCE_LIMIT, line, shown
from mcts.domain import Candidate
from mcts.journal.record import Result
from mcts.journal.summary import Provenance, RunSummary
from mcts.ports import Event

ROWS = 100
"""Nodes in the table of a page without JavaScript."""
_TITLES = ("node", "parent", "speedup", "interval", "time, µs", "visits", "changed", "outcome")
_NAME = 200
_NO_BRANCHES: Branches = {}
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def report_html(
    *,
    run: Provenance,
    result: Result,
    svg: bytes | None,
    branches: Branches = _NO_BRANCHES,
    run_dir: Path | None = None,
    events: Sequence[Event] | None = None,
) -> str:
    """The page of a run whose baseline was measured. `svg` is the tree's picture, if there is one;
    `branches` are those that lost, by node; `run_dir` the folder that holds the run's journal,
    and `events` what stands in it, read from there if it is not given.
    """
    summary = RunSummary.of(run, result)
    data = page_data(run=run, result=result, branches=branches, run_dir=run_dir, events=events)
    candidate = result.best.candidate
    return pages.page(
        "experiments.views.report",
        "page.html.j2",
        title=f"{line(run.task)}: {summary.best.speedup:.2f}×",
        task=line(run.task, _NAME),
        evaluator=line(run.evaluator, _NAME),
        proposer=line(run.proposer, _NAME),
        hardware=line(run.hardware, _NAME),
        best=summary.best,
        over=line(summary.best.over, _NAME),
        table=data.table,
        clock=clock,
        percent=percent,
        picture=base64.b64encode(svg).decode() if svg is not None else None,
        source=shown(file_text(candidate), SOURCE_LIMIT) if candidate else None,
        tunables=_tunables(candidate) if candidate else "",
        count=len(data.table["nodes"]["id"]),
        titles=_TITLES,
        rows=list(_rows(data.table)),
        policy=policy(),
        styles=assets.styles(),
        scripts=assets.scripts(),
        data=inert_json(data.table),
        blocks=data.blocks,
    )


def _tunables(candidate: Candidate) -> str:
    return line(", ".join(f"{name} = {value}" for name, value in candidate.tunables.items()), 600)


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The first `ROWS` nodes: how the row looks, and its cells."""
    nodes, path = table["nodes"], set(table["path"])
    for at in range(min(len(nodes["id"]), ROWS)):
        node = {name: nodes[name][at] for name in _SHOWN}
        speedup, reason = node["speedup"], node["reason"]
        status = nodes["status_names"][node["status"]]
        twice = ", confirmed" if node["confirmed"] and speedup is not None else ""
        kind = "path" if node["id"] in path else "" if speedup is not None else "failed"
        yield (
            kind,
            (
                str(node["id"]),
                "" if node["parent"] is None else str(node["parent"]),
                "" if speedup is None else f"{speedup:.2f}×",
                "" if node["low"] is None else f"{node['low']:.2f} to {node['high']:.2f}",
                "" if node["time"] is None else f"{node['time']:.2f}",
                str(node["visits"]),
                node["changed"],
                f"{status}{twice}{': ' if reason else ''}{reason}",
            ),
        )


_SHOWN = (
    "id", "parent", "speedup", "low", "high", "time", "visits", "changed", "status", "confirmed",
    "reason",
)  # fmt: skip


def policy() -> str:
    """The content security policy: nothing but this page's own scripts, styles and pictures."""
    hashes = " ".join(assets.source_hash(script) for script in assets.scripts())
    return (
        f"default-src 'none'; script-src {hashes}; "
        f"style-src {assets.source_hash(assets.styles())}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def inert_json(table: Mapping[str, Any]) -> str:
    """JSON in which no HTML parser finds the end of its element, nor a comment or an entity."""
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)
