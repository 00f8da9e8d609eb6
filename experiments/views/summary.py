"""A run's outcome: the one object of `--json`, the closing words, and the files it leaves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.runs.tasks.kernel_files import file_text
from experiments.runs.tasks.problems import PROBLEM_FILE
from experiments.text import worth as worth_text
from experiments.text.spending import spending_json, spending_text
from experiments.text.stages import stages_json
from experiments.text.timing import shapes_json
from experiments.views.branching import Branches, branching_words, read_branches
from experiments.views.report.page import report_html
from experiments.views.tree.drawing import tree_source
from experiments.views.tree.given_up import given_up
from experiments.views.tree.render import render
from mcts.domain import Evaluation, Timing, is_host_source, kernel_macros
from mcts.errors import InputError, JournalError, RooftreeError
from mcts.files import write_whole
from mcts.journal.record import NodeRecord, Result, read_result
from mcts.ports import Event

_REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Who did the run, on what: taken from the journal, so that they are what really happened.

    `branches` are those of its proposals that lost, by node; `pruned` the nodes that the search
    gave up.
    """

    task: str
    evaluator: str
    proposer: str
    hardware: str
    seed: int
    branches: Branches = field(default_factory=dict)
    pruned: frozenset[int] = frozenset()

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
            return replace(
                _facts_from(event.payload),
                branches=read_branches(events),
                pruned=given_up(events),
            )
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
    events = tuple(events)
    try:
        return read_result(events)
    except JournalError as error:
        told = any(event.kind == "told" for event in events)
        hint = "" if told else "; rooftree watch says whether it goes on, rooftree resume goes on"
        raise InputError(f"{error}{hint}") from None


def as_json(facts: RunFacts, result: Result, run_dir: Path) -> dict[str, Any]:
    """The object `--json` prints: times in microseconds, energy in millijoules per call.

    The speedup is the confirmed one where `confirmed` is true; `searched_speedup` is what the
    search saw of the same kernel. Of what was spent null is unknown, and `gpu_s` is null for a
    replay. `stages_s` are the seconds of all trials by what was done in them.
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
        "shapes": shapes_json(timing),
        "regressions": list(timing.regressions),
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
        "stages_s": stages_json(result.stages),
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
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}", pruned=facts.pruned)
    tree, problem = _draw(graph.source, run_dir)
    svg = tree.read_bytes() if tree.suffix == ".svg" else None
    report = run_dir / "report.html"
    write_whole(report, _page(facts, result, svg, run_dir))
    return Outputs(
        best_source=best_source,
        best_candidate=best_candidate,
        tree=tree,
        tree_problem=problem,
        report=report,
    )


def write_page(out: Path, run_dir: Path, facts: RunFacts, result: Result) -> None:
    """Write the report alone, into the file `out`; the run folder is only read."""
    graph = tree_source(result, title=f"{facts.task} on {facts.hardware}", pruned=facts.pruned)
    with TemporaryDirectory(prefix="rooftree-") as folder:
        tree, _ = _draw(graph.source, Path(folder))
        svg = tree.read_bytes() if tree.suffix == ".svg" else None
    write_whole(out, _page(facts, result, svg, run_dir))


def _page(facts: RunFacts, result: Result, svg: bytes | None, run_dir: Path) -> str:
    return report_html(
        facts=_rows(facts, result),
        result=result,
        svg=svg,
        branches=facts.branches,
        run_dir=run_dir,
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
        rows["Refused"] = counted(refused)
    return rows


def counted(counts: Mapping[str, int]) -> str:
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
    write_whole(record, json.dumps(payload, indent=2, ensure_ascii=False) + "\n")
    if not best.candidate.source:
        return None, record
    of_torch = (run_dir / "task" / PROBLEM_FILE).is_file()
    is_python = of_torch and not is_host_source(best.candidate.source)
    source = folder / ("kernel.py" if is_python else "kernel.cu")
    write_whole(source, best.candidate.source if is_python else file_text(best.candidate))
    return source, record
