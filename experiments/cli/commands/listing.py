"""`runs` and `plugins`: what lies in a folder, and what others have added."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from experiments.app.plugins import Plugin, plugins_found
from experiments.live.overview import Overview, RunLine
from experiments.text.nodes import fit
from experiments.text.tables import Column, fitted, show, width

_RUNS = (
    Column("run", "name"),
    Column("state", "name"),
    Column("best"),
    Column("trials"),
    Column("failed", spare=3),
    Column("cost", spare=4),
    Column("changed", spare=2),
    Column("what", "words", spare=1),
)
_PLUGINS = (
    Column("kind", "name"),
    Column("name", "name"),
    Column("from", "words"),
    Column("state", "words"),
)
_REASON = 120


def runs(folder: Path, *, as_json: bool) -> None:
    """Print a line for each run below a folder, the latest first. InputError if it is none."""
    lines = Overview(folder).lines()
    if as_json:
        rows = [{**asdict(line), "folder": str(line.folder)} for line in lines]
        print(json.dumps(rows, ensure_ascii=False))
        return
    if not lines:
        print(f"no runs in {folder}")
        return
    show(fitted(_RUNS, [_cells(line) for line in lines], width=width()))


def _cells(line: RunLine) -> list[str]:
    told = line.reason if line.state in ("stopped", "crashed", "damaged") else line.title
    when = datetime.fromtimestamp(line.changed_at) if line.changed_at else None
    return [
        str(line.folder),
        line.state,
        "" if line.speedup is None else f"{line.speedup:.2f}x",
        f"{line.trials}/{line.budget}" if line.budget else str(line.trials),
        str(line.failed),
        line.cost,
        f"{when:%Y-%m-%d %H:%M}" if when else "",
        fit(told, _REASON),
    ]


def plugins(*, as_json: bool) -> bool:
    """Print every part that can be named, ours and others'; returns whether all can be loaded."""
    found = plugins_found()
    if as_json:
        print(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    else:
        show(fitted(_PLUGINS, [_plugin_cells(one) for one in found], width=width()))
    return not any(one.problem for one in found)


def _plugin_cells(one: Plugin) -> list[str]:
    state = "hidden: ours has this name" if one.hidden else one.problem or one.needs or "ok"
    return [one.kind, one.name, one.source, fit(state, _REASON)]
