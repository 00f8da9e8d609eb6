"""The pages: the list of runs, a run with its report, two runs side by side."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.live.overview import RunLine
from experiments.runs.folders.journal import read_events
from experiments.text import pages
from experiments.text.quantities import clock
from experiments.views import summary

_PACKAGE = "experiments.app.serving"


def run_id(folder: Path) -> str:
    """What a run is called in addresses."""
    return hashlib.sha256(str(folder).encode()).hexdigest()[:12]


def as_row(line: RunLine, root: Path) -> dict[str, Any]:
    """A run as the list shows it, in texts; `version` changes whenever it does."""
    name = "." if line.folder == root else str(line.folder.relative_to(root))
    changed = datetime.fromtimestamp(line.changed_at) if line.changed_at else None
    told = line.reason if line.state in ("stopped", "crashed", "damaged") else line.title
    row: dict[str, Any] = {
        "id": run_id(line.folder),
        "name": name,
        "state": line.state,
        "best": "" if line.speedup is None else f"{line.speedup:.2f}×",
        "time": "" if line.best_us is None else f"{line.best_us:,.2f} µs",
        "trials": f"{line.trials}/{line.budget}" if line.budget else str(line.trials),
        "failed": str(line.failed),
        "cost": line.cost,
        "took": clock(line.elapsed_s),
        "changed": f"{changed:%Y-%m-%d %H:%M}" if changed else "",
        "told": told,
        "over": line.state != "running",
    }
    row["version"] = _digest(json.dumps(row, sort_keys=True))
    return row


def list_page(rows: Sequence[Mapping[str, Any]], root: Path) -> str:
    """The list of runs."""
    return _page("list.html.j2", title=f"Runs in {root}", root=str(root), rows=rows)


def run_page(row: Mapping[str, Any]) -> str:
    """A run with its report, which follows it as it goes."""
    return _page("run.html.j2", title=str(row["name"]), runs=[row])


def side_page(left: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """Two runs side by side."""
    title = f"{left['name']} beside {right['name']}"
    return _page("run.html.j2", title=title, runs=[left, right])


def message_page(title: str, words: str) -> str:
    """A page that only says something."""
    return _page("message.html.j2", title=title, words=words)


def report(folder: Path) -> str:
    """The report of a run as it is now. InputError before its baseline was measured."""
    events = read_events(folder)
    facts, result = summary.facts_of(events), summary.result_of(events)
    with TemporaryDirectory(prefix="rooftree-") as place:
        out = Path(place) / "report.html"
        summary.write_page(out, folder, facts, result, events=events)
        return out.read_text(encoding="utf-8")


def policy() -> str:
    """The content security policy of our own pages: their script, their style, our own frames."""
    return (
        f"default-src 'none'; script-src {_source_hash(script())}; "
        f"style-src {_source_hash(style())}; connect-src 'self'; frame-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )


@cache
def script() -> str:
    return (files(_PACKAGE) / "serve.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    return (files(_PACKAGE) / "serve.css").read_text(encoding="utf-8")


def _page(template: str, **values: Any) -> str:
    return pages.page(
        _PACKAGE, template, script=pages.markup(script()), style=pages.markup(style()), **values
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
