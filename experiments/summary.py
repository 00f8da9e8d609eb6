"""A run's outcome: the one object of `--json`, the closing words, and the files it leaves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments import worth_text
from experiments.branching import Branches, branching_words, read_branches
from experiments.changes import changes
from experiments.energy_text import energy_text
from experiments.problems import PROBLEM_FILE
from experiments.render import render
from experiments.report import report_html, resolution_words
from experiments.spending_text import spending_json, spending_text
from experiments.treeview import tree_source
from mcts.domain import Evaluation, Timing, kernel_macros
from mcts.errors import InputError, JournalError, RooftreeError
from mcts.finalists import confirmation_words
from mcts.ports import Event
from mcts.record import NodeRecord, Result, read_result

_REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Who did the run, on what: taken from the journal, so that they are what really happened.

    `branches` are those of its proposals that lost, by node.
    """

    task: str
    evaluator: str
    proposer: str
    hardware: str
    seed: int
    branches: Branches = field(default_factory=dict)

    @property
    def replayed(self) -> bool:
        """Whether measurements came from a recording, and took no GPU."""
        return self.evaluator == _REPLAY

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
    """The facts in a journal. InputError for a run that never began, JournalError for a damaged
    journal.
    """
    events = tuple(events)
    for event in events:
        if event.kind == "started":
            return replace(_facts_from(event.payload), branches=read_branches(events))
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
        raise InputError(str(error)) from None


def as_json(facts: RunFacts, result: Result, run_dir: Path) -> dict[str, Any]:
    """The object `--json` prints: times in microseconds, energy in millijoules per call.

    The speedup is the confirmed one where `confirmed` is true; `searched_speedup` is what the
    search saw of the same kernel. Of what was spent null is unknown, and `gpu_s` is null for a
    replay.
    """
    verdict, timing = verdict_of(result.best), timing_of(result.best)
    energy = verdict.energy
    return {
        "task": facts.task,
        "evaluator": facts.evaluator,
        "proposer": facts.proposer,
        "hardware": facts.hardware,
        "baseline_us": timing.baseline_us,
        "best_us": timing.median_us,
        "speedup": timing.speedup,
        "over": timing.baseline,
        "speedup_low": timing.speedup_low,
        "speedup_high": timing.speedup_high,
        "confirmed": result.best.confirmed is not None,
        "searched_speedup": result.best.speedup,
        "detectable": timing.detectable,
        "objective": result.objective,
        "energy_mj": energy.energy_mj if energy else None,
        "energy_low_mj": energy.low_mj if energy else None,
        "energy_high_mj": energy.high_mj if energy else None,
        "baseline_energy_mj": energy.baseline_mj if energy else None,
        "isolation": str(verdict.isolation) if verdict.isolation else None,
        "notes": list(verdict.notes),
        "refused": refusals(result),
        "evaluations": result.evaluations,
        "unique": result.unique,
        "failed": result.failed,
        "restarts": sum(node.restarted for node in result.nodes),
        **spending_json(result.spending, replayed=facts.replayed),
        "attributions": [
            worth_text.attribution_json(node, found)
            for node, found in worth_text.attributed(result.nodes)
        ],
        "stop_reason": result.stop_reason,
        "seconds": round(result.seconds, 3),
        "run_dir": str(run_dir),
        "tree_digest": result.tree_digest,
    }


def verdict_of(node: NodeRecord) -> Evaluation:
    """The evaluation that counts of a node that has one."""
    assert node.verdict is not None
    return node.verdict


def timing_of(node: NodeRecord) -> Timing:
    """The timing that counts of a measured node: the confirmed one where there is one."""
    timing = verdict_of(node).timing
    assert timing is not None
    return timing


def refusals(result: Result) -> dict[str, int]:
    """Distinct candidates that were refused, finalists included, by the class of what was seen."""
    seen = {
        verdict.candidate_id: verdict.refusal.cheat
        for node in result.nodes
        if (verdict := node.verdict) is not None and verdict.refusal is not None
    }
    return dict(sorted(Counter(seen.values()).items()))


def write_outputs(run_dir: Path, facts: RunFacts, result: Result) -> Outputs:
    """Write `best/`, the tree's picture and the report into the run folder."""
    best_source, best_candidate = _write_best(run_dir, result)
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}")
    tree, problem = _draw(graph.source, run_dir)
    svg = tree.read_bytes() if tree.suffix == ".svg" else None
    report = run_dir / "report.html"
    page = report_html(facts=_rows(facts, result), result=result, svg=svg, branches=facts.branches)
    report.write_text(page, encoding="utf-8")
    return Outputs(
        best_source=best_source,
        best_candidate=best_candidate,
        tree=tree,
        tree_problem=problem,
        report=report,
    )


def _rows(facts: RunFacts, result: Result) -> Mapping[str, str]:
    rows = {
        "Task": facts.task,
        "Evaluator": facts.evaluator,
        "Proposer": facts.proposer,
        "Hardware": facts.hardware,
        "Seed": str(facts.seed),
        "Stopped because": result.stop_reason,
        "Trials": f"{result.evaluations}, {result.unique} unique, {result.failed} failed",
        "Wall clock": f"{result.seconds:.1f} s",
        "Spent": spending_text(result.spending, replayed=facts.replayed),
        "Branches": branching_words(result),
        "Methods": worth_text.counts_text(result.nodes),
        "Tree digest": result.tree_digest,
    }
    rows = {name: value for name, value in rows.items() if value}
    if result.objective != "time":
        rows["Objective"] = result.objective
    if (isolation := verdict_of(result.best).isolation) is not None:
        rows["Isolation"] = str(isolation)
    if refused := refusals(result):
        rows["Refused"] = _counted(refused)
    return rows


def _counted(counts: Mapping[str, int]) -> str:
    """``2 side_stream, 1 stale_memory``"""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


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
    record.write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not best.candidate.source:
        return None, record
    is_torch = (run_dir / "task" / PROBLEM_FILE).is_file()
    source = folder / ("kernel.py" if is_torch else "kernel.cu")
    source.write_text(best.candidate.source, encoding="utf-8")
    return source, record


def closing_words(facts: RunFacts, result: Result, outputs: Outputs, run_dir: Path) -> list[str]:
    """What a person reads at the end of a run."""
    timing, best = timing_of(result.best), result.best
    lines = [
        f"best kernel   {timing.median_us:.2f} us, {timing.speedup:.2f}x over {_over(timing)} "
        f"{timing.baseline_us:.2f} us (95 % interval {timing.speedup_low:.2f} to "
        f"{timing.speedup_high:.2f}), node {best.id}",
        *_proof(result),
        f"changed       {_changed(result)}",
        f"trials        {result.evaluations} ({result.unique} unique, {result.failed} failed) in "
        f"{result.seconds:.1f} s; stopped: {result.stop_reason}",
        *_account(facts, result),
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


def _account(facts: RunFacts, result: Result) -> list[str]:
    """Lines for what was spent, what became of branches, and what methods are worth."""
    spent = spending_text(result.spending, replayed=facts.replayed)
    worth = worth_text.counts_text(result.nodes)
    branches = branching_words(result)
    return [
        *([f"branches      {branches}"] if branches else []),
        *([f"spent         {spent}"] if spent else []),
        *([f"methods       {worth}"] if worth else []),
    ]


def _over(timing: Timing) -> str:
    """Whose time the speedup is over, before that time."""
    return "the baseline's" if timing.baseline == "baseline" else f"{timing.baseline}'s"


def _proof(result: Result) -> list[str]:
    """How well the best is known: lines for what there is to say of it."""
    best, verdict, lines = result.best, verdict_of(result.best), []
    timing = timing_of(best)
    if result.confirmed:
        lines.append(f"confirmed     {_confirmed(result)}")
    if timing.detectable is not None:
        lines.append(f"resolution    {resolution_words(timing.detectable)}")
    if verdict.energy is not None:
        lines.append(f"energy        {energy_text(verdict.energy)}")
    if verdict.isolation is not None:
        lines.append(f"isolation     {verdict.isolation}")
    if refused := refusals(result):
        lines.append(f"refused       {_counted(refused)}")
    return lines + [f"note          {note}" for note in verdict.notes]


def _confirmed(result: Result) -> str:
    """What the winner's second measurement said, and how many of the finalists' bore out."""
    best, finalists = result.best, len(result.confirmed)
    held = sum(again.measured for again in result.confirmed.values())
    count = f"{held} of {finalists} finalist{'' if finalists == 1 else 's'} held"
    if best.confirmed is None or best.evaluation is None:
        return f"none is faster than the baseline when measured again; {count}"
    return f"{confirmation_words(best.evaluation, best.confirmed)}; {count}"


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
