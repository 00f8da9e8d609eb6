"""A run's outcome: the one object of `--json`, the closing words, and the files it leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.changes import changes
from experiments.render import render
from experiments.report import report_html
from experiments.treeview import tree_source
from mcts.domain import Timing, kernel_macros
from mcts.errors import InputError, JournalError, RooftreeError
from mcts.ports import Event
from mcts.record import NodeRecord, Result, read_result


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Who did the run, on what: taken from the journal, so that they are what really happened."""

    task: str
    evaluator: str
    proposer: str
    hardware: str
    seed: int

    def __str__(self) -> str:
        return (
            f"task {self.task}, evaluator {self.evaluator}, proposer {self.proposer}, "
            f"hardware {self.hardware}, seed {self.seed}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files a finished run left behind; `tree_problem` says why the tree is only a .dot."""

    best_source: Path | None
    best_candidate: Path
    tree: Path
    tree_problem: str | None
    report: Path


def facts_of(events: Iterable[Event]) -> RunFacts:
    """The facts in a journal's first event. InputError for a run that never began."""
    for event in events:
        if event.kind == "started":
            return _facts_from(event.payload)
    raise InputError("the run stopped before it began: start it again with rooftree optimize")


def _facts_from(payload: Mapping[str, Any]) -> RunFacts:
    try:
        return RunFacts(
            task=str(payload["task"]),
            evaluator=str(payload["evaluator"]),
            proposer=str(payload["proposer"]),
            hardware=str(payload["hardware"]),
            seed=int(payload["seed"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise JournalError(f"the run's journal is damaged: its start lacks {error}") from None


def result_of(events: Iterable[Event]) -> Result:
    """The run's tree. InputError when not even its baseline was measured."""
    try:
        return read_result(events)
    except JournalError as error:
        raise InputError(f"nothing to show: {error}") from None


def as_json(facts: RunFacts, result: Result, run_dir: Path) -> dict[str, Any]:
    """The object `--json` prints; times in microseconds."""
    timing = timing_of(result.best)
    return {
        "task": facts.task,
        "evaluator": facts.evaluator,
        "proposer": facts.proposer,
        "hardware": facts.hardware,
        "baseline_us": timing.baseline_us,
        "best_us": timing.median_us,
        "speedup": timing.speedup,
        "speedup_low": timing.speedup_low,
        "speedup_high": timing.speedup_high,
        "evaluations": result.evaluations,
        "unique": result.unique,
        "failed": result.failed,
        "stop_reason": result.stop_reason,
        "seconds": round(result.seconds, 3),
        "run_dir": str(run_dir),
        "tree_digest": result.tree_digest,
    }


def timing_of(node: NodeRecord) -> Timing:
    """The timing of a measured node."""
    assert node.evaluation is not None and node.evaluation.timing is not None
    return node.evaluation.timing


def write_outputs(run_dir: Path, facts: RunFacts, result: Result) -> Outputs:
    """Write `best/`, the tree's picture and the report into the run folder."""
    best_source, best_candidate = _write_best(run_dir / "best", result)
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}")
    tree, problem = _draw(graph.source, run_dir)
    svg = tree.read_bytes() if tree.suffix == ".svg" else None
    report = run_dir / "report.html"
    page = report_html(facts=_rows(facts, result), result=result, svg=svg)
    report.write_text(page, encoding="utf-8")
    return Outputs(
        best_source=best_source,
        best_candidate=best_candidate,
        tree=tree,
        tree_problem=problem,
        report=report,
    )


def _rows(facts: RunFacts, result: Result) -> Mapping[str, str]:
    return {
        "Task": facts.task,
        "Evaluator": facts.evaluator,
        "Proposer": facts.proposer,
        "Hardware": facts.hardware,
        "Seed": str(facts.seed),
        "Stopped because": result.stop_reason,
        "Trials": f"{result.evaluations}, {result.unique} unique, {result.failed} failed",
        "Wall clock": f"{result.seconds:.1f} s",
        "Tree digest": result.tree_digest,
    }


def _draw(source: str, run_dir: Path) -> tuple[Path, str | None]:
    picture = run_dir / "tree.svg"
    try:
        render(source, picture)
    except RooftreeError as error:
        render(source, run_dir / "tree.dot")
        return run_dir / "tree.dot", str(error)
    return picture, None


def _write_best(folder: Path, result: Result) -> tuple[Path | None, Path]:
    best = result.best
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
    record.write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not best.candidate.source:
        return None, record
    source = folder / "kernel.cu"
    source.write_text(best.candidate.source, encoding="utf-8")
    return source, record


def closing_words(facts: RunFacts, result: Result, outputs: Outputs, run_dir: Path) -> list[str]:
    """What a person reads at the end of a run."""
    timing, best = timing_of(result.best), result.best
    lines = [
        f"best kernel   {timing.median_us:.2f} us, {timing.speedup:.2f}x over the baseline's "
        f"{timing.baseline_us:.2f} us (95 % interval {timing.speedup_low:.2f} to "
        f"{timing.speedup_high:.2f}), node {best.id}",
        f"changed       {_changed(result)}",
        f"trials        {result.evaluations} ({result.unique} unique, {result.failed} failed) in "
        f"{result.seconds:.1f} s; stopped: {result.stop_reason}",
        f"done by       evaluator {facts.evaluator}, proposer {facts.proposer}",
        f"hardware      {facts.hardware}",
        f"run folder    {run_dir}",
        f"kernel        {_kernel(outputs, best)}",
        f"tree          {outputs.tree}",
        f"report        {outputs.report}",
    ]
    if outputs.tree_problem:
        lines.append(f"note          {outputs.tree_problem}")
    return lines


def _kernel(outputs: Outputs, best: NodeRecord) -> str:
    if outputs.best_source is None or best.candidate is None:
        return str(outputs.best_candidate)
    return " ".join([str(outputs.best_source), *kernel_macros(best.candidate.tunables)])


def _changed(result: Result) -> str:
    before, after = result.baseline.candidate, result.best.candidate
    assert before is not None and after is not None
    words = changes(before, after).words()
    methods = sorted(
        {
            method
            for node in result.path_to(result.best)
            if node.candidate is not None
            for method in node.candidate.methods
        }
    )
    return (", ".join(words) or "nothing") + (f" ({', '.join(methods)})" if methods else "")
