"""`memory tools`: what each tool's advice was worth so far."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from experiments.commands.tables import print_table
from experiments.toolmemory import ToolMemory, ToolStatistics, default_path


def tools(*, memory: Path | None, gpu: str | None, proposer: str | None, as_json: bool) -> None:
    """Print hit rates and gains per tool, GPU and proposer."""
    path = memory or default_path()
    rows: list[ToolStatistics] = []
    if path.exists():
        with ToolMemory(path) as store:
            rows = store.statistics(gpu=gpu, proposer=proposer)
    if as_json:
        found = [{**asdict(row), "mean_gain": row.mean_gain} for row in rows]
        print(json.dumps({"memory": str(path), "tools": found}, ensure_ascii=False))
    elif not rows:
        print(
            f"{path} holds nothing yet: it learns from searches on a GPU, "
            "and from replays that are given --memory FILE"
        )
    else:
        _print(rows)


def _print(rows: list[ToolStatistics]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("tool", "GPU", "proposer"):
        table.add_column(title)
    for title in ("fired", "followed", "improved", "> 1.5x", "failed", "mean gain", "predicted"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in sorted(rows, key=lambda row: (row.gpu, row.proposer, -row.followed, row.tool)):
        table.add_row(
            Text(row.tool),
            Text(row.gpu),
            Text(row.proposer),
            str(row.fired),
            str(row.followed),
            _share(row.improved, row.followed),
            _share(row.great, row.followed),
            _share(row.failed, row.followed),
            f"{row.mean_gain:.2f}x" if row.mean_gain else "",
            f"{row.predicted_gain:.2f}x, got {row.realised_gain:.2f}x"
            if row.predicted_gain and row.realised_gain
            else "",
        )
    print_table(table)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
