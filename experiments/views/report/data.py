"""Everything the page shows, as one JSON with a version, and the packed values it refers to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.runs.folders.journal import DATABASE, read_events
from experiments.runs.tasks.problems import PROBLEM_FILE
from experiments.text.changes import changes
from experiments.text.stages import shares, stage_words
from experiments.views.branching import Branches
from experiments.views.figures import REPORT_BEST, REPORT_RUN, rows
from experiments.views.report import (
    account,
    conversations,
    methods,
    outcomes,
    roofs,
    tools,
    tunables,
)
from experiments.views.report.columns import columns
from experiments.views.report.details import detail
from experiments.views.report.packing import Packer
from experiments.views.report.progress import Point, progress_of, progress_without_journal
from experiments.views.report.text import cleaned, line
from experiments.views.tree.given_up import given_up
from mcts.journal.record import RUNNING, NodeRecord, Result
from mcts.journal.summary import Provenance, RunSummary
from mcts.ports import Event

FORMAT = 1
_COLOURED = frozenset(
    ("proposing", "waiting", "compiling", "verifying", "timing", "metering", "profiling",
     "judging", "confirming")
)  # fmt: skip
"""Stages with a colour in `charts.css`; others share one."""
_PYTHON = re.compile(r"^(import|from|def|class) \w", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageData:
    """`table` is the JSON of the page; `blocks` are the packed values it refers to."""

    table: Mapping[str, Any]
    blocks: Sequence[str]


def page_data(
    *,
    run: Provenance,
    result: Result,
    branches: Branches,
    run_dir: Path | None = None,
    events: Sequence[Event] | None = None,
) -> PageData:
    """What the page shows of `result`. From `run_dir`, where it is a run folder, come the times at
    which trials ended and what was said with the model. `events` are those of its journal, read
    from there if they are not given."""
    if events is None:
        events = _events(run_dir)
    said = conversations.read_conversations(run_dir, events) if run_dir is not None else {}
    packer = Packer()
    details = {
        node.id: packer.add(
            detail(
                node, packer, tried=branches.get(node.id, ()), conversations=said.get(node.id, ())
            )
        )
        for node in result.nodes
    }
    packer.close()
    best, summary = result.best, RunSummary.of(run, result)
    path = [node.id for node in result.path_to(best)]
    table = {
        "format": FORMAT,
        "facts": [[name.capitalize(), line(text, 600)] for name, text in rows(summary, REPORT_RUN)],
        "finished": result.stop_reason != RUNNING,
        "language": language_of(result, run_dir),
        "objective": result.objective,
        "best": best.id,
        "best_words": [line(text, 600) for _, text in rows(summary, REPORT_BEST)],
        "changed": changed_between(result.baseline, best),
        "path": path,
        "nodes": columns(result, details, given_up(events)),
        "course": _progress(
            progress_of(events) or progress_without_journal(result.nodes),
            replayed=run.replayed,
        ),
        "roofs": cleaned(roofs.roofs_of(result.nodes)),
        "floor": roofs.floor_of(best),
        "tunables": tunables.tunables_of(result),
        "claimed": methods.claimed_rows(result, path),
        "ablations": cleaned(methods.ablation_rows(result)),
        "tools": tools.tool_rows(result),
        "failures": outcomes.failure_rows(result.nodes),
        "account": account.account_rows(result),
        "times": time_rows(result),
        "blocks": packer.starts,
    }
    return PageData(table, packer.blocks)


def _events(run_dir: Path | None) -> tuple[Event, ...]:
    if run_dir is None or not (run_dir / DATABASE).is_file():
        return ()
    return read_events(run_dir)


def _progress(points: Sequence[Point], *, replayed: bool) -> dict[str, Any]:
    """As columns. A replay takes no time on a device, and what is not known is null."""
    known = all(point.elapsed_s is not None for point in points)
    return {
        "node": [point.node for point in points],
        "elapsed_s": cleaned([point.elapsed_s for point in points]) if known else None,
        "cost_usd": cleaned([point.cost_usd for point in points]),
        "judged_s": None if replayed else cleaned([point.judged_s for point in points]),
    }


def language_of(result: Result, run_dir: Path | None) -> str:
    """How to colour the sources: ``python`` for PyTorch candidates, else ``cuda``."""
    if run_dir is not None and (run_dir / "task" / PROBLEM_FILE).is_file():
        return "python"
    baseline = result.baseline.candidate
    python = baseline is not None and _PYTHON.search(baseline.source) is not None
    return "python" if python else "cuda"


def changed_between(before: NodeRecord, after: NodeRecord) -> list[str]:
    """What the best changed against the baseline, lines counted."""
    if before.candidate is None or after.candidate is None:
        return []
    return [line(word, 200) for word in changes(before.candidate, after.candidate).words()]


def time_rows(result: Result) -> list[dict[str, Any]]:
    """A row per stage, the longest first; empty if there is nothing to tell apart."""
    return [
        {
            "stage": stage if stage in _COLOURED else "other",
            "words": line(stage_words(stage), 60),
            "seconds": round(result.stages[stage], 3),
            "share": round(share, 6),
        }
        for stage, share in shares(result.stages)
    ]
