"""A run's outcome: the one object of `--json`, the closing words, and the files it leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from codegen.plan_text import file_text
from experiments.runs.tasks.problems import PROBLEM_FILE
from experiments.views.branching import Branches, read_branches
from experiments.views.report.page import report_html
from experiments.views.tree.drawing import tree_source
from experiments.views.tree.given_up import given_up
from experiments.views.tree.render import render
from mcts.domain import CUDA, KERNELBENCH, form_of, kernel_macros
from mcts.errors import InputError, JournalError, RooftreeError
from mcts.files import write_whole
from mcts.journal.record import Result, read_result
from mcts.journal.runlog import DAMAGES
from mcts.journal.summary import Provenance, RunSummary, flat
from mcts.ports import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts(Provenance):
    """`branches` are those of the run's proposals that lost, by node; `pruned` the nodes that the
    search gave up.
    """

    branches: Branches = field(default_factory=dict)
    pruned: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files a finished run left behind; `tree_problem` says why the tree is only a .dot."""

    best_source: Path | None
    best_candidate: Path
    tree: Path
    tree_problem: str | None
    report: Path


def facts_of(events: Iterable[Event]) -> RunFacts:
    """The facts in a journal. InputError for a run that never began, JournalError for a damaged
    journal.
    """
    events = tuple(events)
    for event in events:
        if event.kind == "started":
            return replace(
                _facts_from(event.payload),
                branches=read_branches(events),
                pruned=given_up(events),
            )
    raise InputError(
        "the run has not begun; rooftree watch says whether it goes on, rooftree resume begins it"
    )


def _facts_from(payload: Mapping[str, Any]) -> RunFacts:
    try:
        return RunFacts(
            task=str(payload["task"]),
            evaluator=str(payload["evaluator"]),
            proposer=str(payload["proposer"]),
            hardware=str(payload["hardware"]),
            seed=int(payload["seed"]),
        )
    except DAMAGES as error:
        raise JournalError(f"the run's journal is damaged: its start lacks {error}") from None


def result_of(events: Iterable[Event]) -> Result:
    """The run's tree. InputError when not even its baseline was measured."""
    events = tuple(events)
    try:
        return read_result(events)
    except JournalError as error:
        told = any(event.kind == "told" for event in events)
        hint = "" if told else "; rooftree watch says whether it goes on, rooftree resume goes on"
        raise InputError(f"{error}{hint}") from None


def as_json(facts: RunFacts, result: Result, run_dir: Path) -> dict[str, Any]:
    """The object `--json` prints: the fields of RunSummary, without nesting."""
    return {**flat(RunSummary.of(facts, result)), "run_dir": str(run_dir)}


def write_outputs(
    run_dir: Path, facts: RunFacts, result: Result, *, events: Sequence[Event] | None = None
) -> Outputs:
    """Write `best/`, the tree's picture and the report into the run folder.

    events: those of its journal, read from there if they are not given.
    """
    best_source, best_candidate = _write_best(run_dir, result)
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}", pruned=facts.pruned)
    tree, problem = _draw(graph.source, run_dir)
    svg = tree.read_bytes() if tree.suffix == ".svg" else None
    report = run_dir / "report.html"
    write_whole(report, _page(facts, result, svg, run_dir, events))
    return Outputs(
        best_source=best_source,
        best_candidate=best_candidate,
        tree=tree,
        tree_problem=problem,
        report=report,
    )


def write_page(
    out: Path,
    run_dir: Path,
    facts: RunFacts,
    result: Result,
    *,
    events: Sequence[Event] | None = None,
) -> None:
    """Write the report alone, into the file `out`; the run folder is only read."""
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}", pruned=facts.pruned)
    with TemporaryDirectory(prefix="rooftree-") as folder:
        tree, _ = _draw(graph.source, Path(folder))
        svg = tree.read_bytes() if tree.suffix == ".svg" else None
    write_whole(out, _page(facts, result, svg, run_dir, events))


def _page(
    facts: RunFacts,
    result: Result,
    svg: bytes | None,
    run_dir: Path,
    events: Sequence[Event] | None,
) -> str:
    return report_html(
        run=facts,
        result=result,
        svg=svg,
        branches=facts.branches,
        run_dir=run_dir,
        events=events,
    )


def _draw(source: str, run_dir: Path) -> tuple[Path, str | None]:
    picture = run_dir / "tree.svg"
    try:
        render(source, picture)
    except RooftreeError as error:
        render(source, run_dir / "tree.dot")
        return run_dir / "tree.dot", str(error)
    return picture, None


def _write_best(run_dir: Path, result: Result) -> tuple[Path | None, Path]:
    best, folder = result.best, run_dir / "best"
    assert best.candidate is not None and best.evaluation is not None
    folder.mkdir(exist_ok=True)
    record = folder / "candidate.json"
    payload = {
        "node": best.id,
        "candidate_id": best.candidate.id,
        "tunables": best.candidate.tunables,
        "compiler_options": kernel_macros(best.candidate.tunables),
        "methods": best.candidate.methods,
        "rationale": best.candidate.rationale,
        "evaluation": best.evaluation.model_dump(mode="json", exclude={"profile"}),
    }
    if best.confirmed is not None:
        payload["confirmed"] = best.confirmed.model_dump(mode="json")
    write_whole(record, json.dumps(payload, indent=2, ensure_ascii=False) + "\n")
    if not best.candidate.source:
        return None, record
    of_torch = (run_dir / "task" / PROBLEM_FILE).is_file()
    dialect = form_of(KERNELBENCH if of_torch else CUDA, best.candidate.source)
    source = folder / f"kernel{dialect.suffix}"
    write_whole(source, file_text(best.candidate) if dialect.has_plan else best.candidate.source)
    return source, record
