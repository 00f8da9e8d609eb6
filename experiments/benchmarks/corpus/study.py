"""Runs exhibits: one evaluator for all that share a task and a policy."""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from experiments.benchmarks.corpus.exhibits import DIALECTS, Exhibit
from experiments.benchmarks.corpus.expectation import Outcome
from experiments.benchmarks.corpus.tasks import task_of
from mcts.domain import KernelTask, Policy
from mcts.errors import RooftreeError, UnfairTask, WorldError
from mcts.ports import Evaluator

Factory = Callable[[KernelTask, Policy], Evaluator]
Say = Callable[[str], None]
_ORDER = {"honest": 0, "fault": 2}
_PROGRAMS = ("nvcc", "c++")
CUDA_HEADERS = "cuda headers"
"""Where nvcc is, its headers are."""


@dataclass(frozen=True, slots=True)
class Group:
    """Exhibits of one task under one policy, honest ones first and faults last."""

    task: KernelTask
    exhibits: tuple[Exhibit, ...]


@dataclass(slots=True)
class Study:
    """What came of a run over the `planned` exhibits, and on what it ran."""

    planned: tuple[Exhibit, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    hardware: str = ""

    @property
    def wrong(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.wrong]

    @property
    def left(self) -> list[str]:
        """Names of the exhibits that nothing came of, because the run ended before them."""
        judged = {outcome.exhibit.name for outcome in self.outcomes}
        return [one.name for one in self.planned if one.name not in judged]

    @property
    def isolation(self) -> str:
        """The levels that candidates were held at, each once."""
        levels = {outcome.isolation for outcome in self.outcomes if outcome.isolation}
        return ", ".join(sorted(levels)) or "not reported"


def grouped(exhibits: Sequence[Exhibit]) -> list[Group]:
    """Exhibits by dialect, task and policy, in the manifest's order otherwise."""
    groups: dict[tuple[int, str, str], list[Exhibit]] = {}
    for one in exhibits:
        policy = Policy.model_validate(one.policy).model_dump_json()
        groups.setdefault((DIALECTS.index(one.dialect), one.task, policy), []).append(one)
    return [
        Group(task_of(members[0]), tuple(sorted(members, key=_rank)))
        for _, members in sorted(groups.items(), key=lambda item: item[0][0])
    ]


def run(
    exhibits: Sequence[Exhibit],
    factory: Factory,
    *,
    on_progress: Say,
    keep: Callable[[Study], None] = lambda _study: None,
    overdue: Callable[[], bool] = lambda: False,
) -> Study:
    """Judge every exhibit; a group whose task the gate refuses has that for its verdict.

    `keep` gets the study after every group, one that was interrupted included. Once `overdue` says
    so no other exhibit is begun. InputError of the factory, other than the gate's, ends the run.
    """
    study = Study(planned=tuple(exhibits))
    ready = []
    for one in exhibits:
        if absent := missing(one.needs):
            message = f"needs {', '.join(absent)}"
            study.outcomes.append(Outcome(exhibit=one, verdict=None, message=message, skipped=True))
            on_progress(f"{one.name}: not run, {message}")
        else:
            ready.append(one)
    for group in grouped(ready):
        if overdue():
            break
        try:
            _run_group(group, factory, study, on_progress, overdue)
        finally:
            keep(study)
    return study


def judge(evaluator: Evaluator, exhibit: Exhibit) -> Outcome:
    """The outcome of one exhibit.

    An exception is no verdict, whatever it is: a judge that a candidate can break is what the
    corpus is there to find out.
    """
    begin = time.monotonic()
    try:
        evaluation = evaluator.evaluate(exhibit.candidate)
    except Exception as error:  # noqa: BLE001 - see above
        spent = time.monotonic() - begin
        world = isinstance(error, RooftreeError)
        message = str(error) if world else f"the judge broke: {type(error).__name__}: {error}"
        return Outcome(exhibit=exhibit, verdict=None, message=message, seconds=spent)
    return Outcome.of(exhibit, evaluation, seconds=time.monotonic() - begin)


@contextmanager
def opened(factory: Factory, task: KernelTask) -> Iterator[Evaluator]:
    """An evaluator that is closed in the end."""
    evaluator = factory(task, task.policy)
    try:
        yield evaluator
    finally:
        evaluator.close()


def missing(needs: Sequence[str]) -> list[str]:
    """What of `needs` is not there: programs on the path, CUDA's headers, Python modules."""
    return [name for name in needs if not _is_there(name)]


def line(outcome: Outcome) -> str:
    """One line of progress."""
    mark = "-" if outcome.skipped else "WRONG" if outcome.wrong else "ok"
    reason = f" [{outcome.wrong}]" if outcome.wrong else ""
    told = not outcome.message or outcome.verdict is None
    said = "" if told else f": {_first_line(outcome.message)}"
    return f"{mark:5} {outcome.exhibit.name}: {outcome.text}, {outcome.seconds:.1f} s{reason}{said}"


def _run_group(
    group: Group, factory: Factory, study: Study, on_progress: Say, overdue: Callable[[], bool]
) -> None:
    on_progress(f"task {group.task.name} ({group.task.dialect}), {len(group.exhibits)} exhibits")
    begin = time.monotonic()

    def add(outcome: Outcome) -> None:
        study.outcomes.append(outcome)
        on_progress(line(outcome))

    try:
        with opened(factory, group.task) as evaluator:
            study.hardware = study.hardware or str(evaluator.hardware)
            on_progress(f"ready after {time.monotonic() - begin:.1f} s")
            for one in group.exhibits:
                if overdue():
                    return
                add(judge(evaluator, one))
    except (UnfairTask, WorldError) as error:
        # From the factory: the task is refused, or there is no evaluator to be had.
        judged = {outcome.exhibit.name for outcome in study.outcomes}
        for one in group.exhibits:
            if one.name not in judged:
                add(_without_judge(one, error, time.monotonic() - begin))


def _without_judge(exhibit: Exhibit, error: RooftreeError, seconds: float) -> Outcome:
    refused = isinstance(error, UnfairTask) and "task_refused" in exhibit.expect
    return Outcome(
        exhibit=exhibit,
        verdict="task_refused" if refused else None,
        message=str(error),
        seconds=seconds,
    )


def _rank(exhibit: Exhibit) -> int:
    return _ORDER.get(exhibit.kind, 1)


def _is_there(name: str) -> bool:
    if name == CUDA_HEADERS:
        return shutil.which("nvcc") is not None
    if shutil.which(name) is not None:
        return True
    return name not in _PROGRAMS and importlib.util.find_spec(name) is not None


def _first_line(text: str, *, most: int = 160) -> str:
    first = text.strip().partition("\n")[0]
    return first if len(first) <= most else f"{first[:most]}..."


def by_class(outcomes: Sequence[Outcome]) -> Mapping[str, list[Outcome]]:
    """Outcomes by the class of their exhibit, in the order they first come."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.exhibit.kind, []).append(outcome)
    return found
