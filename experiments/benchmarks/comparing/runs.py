"""A run as a comparison sees it: its result, and its best so far after each evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from experiments.benchmarks.studies.folder import STUDY_FILE
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, read_events
from experiments.runs.options.config import RunConfig
from experiments.views import summary
from mcts.domain import Evaluation, Noun
from mcts.errors import InputError
from mcts.journal.record import Result
from mcts.journal.summary import RunSummary, flat
from mcts.ports import Event


class ComparedRun(Noun):
    """One run: fields of RunSummary under their names, and some of its own.

    Speedups are those of the best kernel, from its confirmation if it has one. Two runs can be
    compared if their task_id, hardware and `over` (what the speedup is over) agree. A cost is null
    if it is not known.

    label: what the user calls the run, empty if nothing was given.
    traits: who searched, and how.
    best_so_far: the greatest speedup that the search measured in its first 1, 2, 3 ... unique
        evaluations.
    """

    path: str
    label: str = ""
    task: str
    task_id: str
    hardware: str
    over: str
    seed: int
    traits: dict[str, str]
    speedup: float
    speedup_low: float
    speedup_high: float
    confirmed: bool
    time_us: float
    evaluations: int = Field(ge=0)
    unique: int = Field(ge=0)
    failed: int = Field(ge=0)
    seconds: float
    cost_usd: float | None
    tokens: int | None
    gpu_s: float | None
    replies: int
    stopped: str
    best_so_far: tuple[float, ...]

    @property
    def arena(self) -> tuple[str, str, str]:
        """What two runs must share for their speedups to be comparable."""
        return (self.task_id, self.hardware, self.over)


def read_runs(given: Sequence[str]) -> tuple[ComparedRun, ...]:
    """The runs at the given places, each a folder or LABEL=FOLDER.

    InputError if one is not a run, has no result, or is given twice.
    """
    runs, seen = [], set()
    for item in given:
        label, path = _labelled(item)
        if path.resolve() in seen:
            raise InputError(f"{path} is given twice")
        seen.add(path.resolve())
        runs.append(_read(path, label))
    return tuple(runs)


def is_study(path: Path) -> bool:
    """Whether a folder is a study's."""
    return (path / STUDY_FILE).is_file()


def _labelled(item: str) -> tuple[str, Path]:
    label, sign, path = item.partition("=")
    if sign and label and path and not Path(item).exists():
        return label, Path(path)
    return "", Path(item)


def _read(path: Path, label: str) -> ComparedRun:
    if is_study(path) and not (path / DATABASE).is_file():
        raise InputError(f"{path} is a study: compare one study by itself, or run folders")
    events = read_events(path)
    try:
        facts, result = summary.facts_of(events), summary.result_of(events)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    verdict = result.best.verdict
    if verdict is None or verdict.timing is None:
        raise InputError(f"{path}: its baseline was not measured; there is nothing to compare")
    known = flat(RunSummary.of(facts, result))
    if known["unpriced"]:
        known["cost_usd"] = None  # a part must not be taken for the whole
    if known["uncounted"]:
        known["tokens"] = None
    own = {
        "path": str(path),
        "label": label,
        "task_id": _task_id(events, facts.task),
        "seed": facts.seed,
        "traits": _traits(facts, RunFolder(path).config),
        "time_us": known["best_us"],
        "stopped": known["stop_reason"],
        "best_so_far": _best_so_far(events, result),
    }
    shared = {name: known[name] for name in ComparedRun.model_fields if name not in own}
    return ComparedRun(**own, **shared)


def _task_id(events: Sequence[Event], name: str) -> str:
    """The task's id; its name in runs of versions that did not keep the id."""
    started: dict[str, Any] = next(
        (dict(event.payload) for event in events if event.kind == "started"), {}
    )
    return str(started.get("task_id") or name)


def _traits(facts: summary.RunFacts, config: RunConfig) -> dict[str, str]:
    """What may distinguish one way of searching from another, in words."""
    search, algorithm = config.search, config.search.algorithm
    settings = ", ".join(f"{name} {value:g}" for name, value in algorithm.constants.items())
    return {
        "search": algorithm.name,
        "proposer": facts.proposer,
        "settings": settings,
        "knowledge": "with memory" if config.knowledge else "without memory",
        "parallel": f"{search.parallel} at a time",
        "objective": search.objective,
    }


def _best_so_far(events: Sequence[Event], result: Result) -> tuple[float, ...]:
    """The search's best speedup after each distinct candidate; 1 until one is faster.

    What attribution measured later is no part of the search.
    """
    searched = {node.evaluation.candidate_id for node in result.nodes if node.evaluation}
    searched.update(*(node.branches for node in result.nodes))
    baseline = result.baseline.evaluation
    seen = {baseline.candidate_id} if baseline else set()
    best, curve = 1.0, []
    for event in events:
        if event.kind != "measured":
            continue
        evaluation = Evaluation.model_validate(event.payload["evaluation"])
        if evaluation.candidate_id in seen or evaluation.candidate_id not in searched:
            continue
        seen.add(evaluation.candidate_id)
        if evaluation.speedup is not None and not evaluation.held_back:
            best = max(best, evaluation.speedup)
        curve.append(best)
    return tuple(curve)
