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
from experiments.text.energy import energy_text
from experiments.text.timing import resolution_words, shape_lines
from experiments.views.branching import Branches
from experiments.views.report import account, methods, outcomes, roofs, talks, times, tools
from experiments.views.report.columns import columns
from experiments.views.report.course import Point, course_of, course_without_journal
from experiments.views.report.details import detail
from experiments.views.report.packing import Packer
from experiments.views.report.text import cleaned, line
from experiments.views.tree.given_up import given_up
from mcts.journal.record import RUNNING, NodeRecord, Result
from mcts.ports import Event

FORMAT = 1
REPLAY = "replay"
_PYTHON = re.compile(r"^(import|from|def|class) \w", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageData:
    """`table` is the JSON of the page; `blocks` are the packed values it refers to."""

    table: Mapping[str, Any]
    blocks: Sequence[str]


def page_data(
    *,
    facts: Mapping[str, str],
    result: Result,
    branches: Branches,
    run_dir: Path | None = None,
) -> PageData:
    """What the page shows of `result`. From `run_dir`, where it is a run folder, come the times at
    which trials ended and what was said with the model."""
    events = _events(run_dir)
    said = talks.read_talks(run_dir, events) if run_dir is not None else {}
    packer = Packer()
    details = {
        node.id: packer.add(
            detail(node, packer, tried=branches.get(node.id, ()), talks=said.get(node.id, ()))
        )
        for node in result.nodes
    }
    packer.close()
    best = result.best
    path = [node.id for node in result.path_to(best)]
    table = {
        "format": FORMAT,
        "facts": [[name, line(text, 600)] for name, text in facts.items()],
        "finished": result.stop_reason != RUNNING,
        "language": language_of(result, run_dir),
        "objective": result.objective,
        "best": best.id,
        "best_words": best_words(result, best),
        "changed": changed_between(result.baseline, best),
        "path": path,
        "nodes": columns(result, details, given_up(events)),
        "course": _course(
            course_of(events) or course_without_journal(result.nodes),
            replayed=facts.get("Evaluator") == REPLAY,
        ),
        "roofs": cleaned(roofs.roofs_of(result.nodes)),
        "claimed": methods.claimed_rows(result, path),
        "ablations": cleaned(methods.ablation_rows(result)),
        "tools": tools.tool_rows(result),
        "failures": outcomes.failure_rows(result.nodes),
        "account": account.account_rows(result),
        "times": times.time_rows(result),
        "blocks": packer.starts,
    }
    return PageData(table, packer.blocks)


def _events(run_dir: Path | None) -> tuple[Event, ...]:
    if run_dir is None or not (run_dir / DATABASE).is_file():
        return ()
    return read_events(run_dir)


def _course(points: Sequence[Point], *, replayed: bool) -> dict[str, Any]:
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


def best_words(result: Result, best: NodeRecord) -> list[str]:
    """How well the best is known: its second measurement, each of several shapes, resolution,
    energy, and notes."""
    verdict, words = best.verdict, []
    if best.confirmed is not None:
        searched = best.speedup or 0.0
        words.append(f"confirmed by a second measurement; {searched:.2f}× while searching")
    elif result.confirmed:
        words.append("no finalist is faster than the baseline when measured again")
    if verdict is None:
        return words
    if verdict.timing is not None:
        words += [line(shape, 300) for shape in shape_lines(verdict.timing)]
        if verdict.timing.detectable is not None:
            words.append(resolution_words(verdict.timing.detectable))
    if verdict.energy is not None:
        words.append(energy_text(verdict.energy))
    return words + [line(note, 600) for note in verdict.notes]


def changed_between(before: NodeRecord, after: NodeRecord) -> list[str]:
    """What the best changed against the baseline, lines counted."""
    if before.candidate is None or after.candidate is None:
        return []
    return [line(word, 200) for word in changes(before.candidate, after.candidate).words()]
