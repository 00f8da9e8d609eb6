"""Judges cases: one evaluator for all that share a task and a policy."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from experiments.benchmarks.corpus.cases import DIALECTS, CorpusCase, task_of
from experiments.benchmarks.corpus.verdicts import JudgedCase
from experiments.benchmarks.measurements.side_by_side import side_by_side
from mcts.domain import KernelTask, Policy
from mcts.errors import RooftreeError, UnfairTask, WorldError
from mcts.ports import Evaluator

Factory = Callable[[KernelTask, Policy], Evaluator]
Say = Callable[[str], None]
_ORDER = {"honest": 0, "fault": 2}
_PROGRAMS = ("nvcc", "c++")
CUDA_HEADERS = "cuda headers"
"""Where nvcc is, its headers are."""
SECRET_VARIABLE = "ROOFTREE_CORPUS_CANARY_KEY"


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of one task under one policy, honest ones first and faults last."""

    task: KernelTask
    cases: tuple[CorpusCase, ...]


@dataclass(slots=True)
class CorpusRun:
    """What came of a run over the `planned` cases, and on what it ran."""

    planned: tuple[CorpusCase, ...] = ()
    results: list[JudgedCase] = field(default_factory=list)
    hardware: str = ""

    @property
    def wrong(self) -> list[JudgedCase]:
        return [result for result in self.results if result.wrong]

    @property
    def left(self) -> list[str]:
        """Names of the cases that nothing came of, because the run ended before them."""
        judged = {result.case.name for result in self.results}
        return [one.name for one in self.planned if one.name not in judged]

    @property
    def isolation(self) -> str:
        """The levels that candidates were held at, each once."""
        levels = {result.isolation for result in self.results if result.isolation}
        return ", ".join(sorted(levels)) or "not reported"


def grouped(cases: Sequence[CorpusCase]) -> list[Group]:
    """Cases by dialect, task and policy, in the manifest's order otherwise."""
    groups: dict[tuple[int, str, str], list[CorpusCase]] = {}
    for one in cases:
        policy = Policy.model_validate(one.policy).model_dump_json()
        groups.setdefault((DIALECTS.index(one.dialect), one.task, policy), []).append(one)
    return [
        Group(task_of(members[0]), tuple(sorted(members, key=_rank)))
        for _, members in sorted(groups.items(), key=lambda item: item[0][0])
    ]


def run(
    cases: Sequence[CorpusCase],
    *factories: Factory,
    on_progress: Say,
    keep: Callable[[CorpusRun], None] = lambda _study: None,
    is_overdue: Callable[[], bool] = lambda: False,
) -> CorpusRun:
    """Judge every case; a group whose task the gate refuses has that for its verdict.

    Each of `factories`, one for each GPU, takes one group after the other. `keep` gets the run
    after every group, and in the end. Once `is_overdue` says so no other case is begun. InputError
    of a factory, other than the gate's, ends the run.
    """
    found = CorpusRun(planned=tuple(cases))
    ready = []
    for one in cases:
        if absent := missing(one.needs):
            message = f"needs {', '.join(absent)}"
            found.results.append(JudgedCase(case=one, verdict=None, message=message, skipped=True))
            on_progress(f"{one.name}: not run, {message}")
        else:
            ready.append(one)
    stopping = threading.Event()

    def judged(group: Group, factory: Factory) -> Iterator[JudgedCase | None]:
        def is_over() -> bool:
            return stopping.is_set() or is_overdue()

        if not is_over():
            yield from _judged(group, factory, found, on_progress, is_over)
            yield None

    try:
        for result in side_by_side(grouped(ready), factories, judged, stop=stopping.set):
            if result is None:
                keep(found)
                continue
            found.results.append(result)
            on_progress(line(result))
    finally:
        keep(found)
    return found


def judge(evaluator: Evaluator, case: CorpusCase) -> JudgedCase:
    """The result of one case.

    An exception is no verdict, whatever it is: a judge that a candidate can break is what the
    corpus is there to find out.
    """
    begin = time.monotonic()
    try:
        evaluation = evaluator.evaluate(case.candidate)
    except Exception as error:  # noqa: BLE001 - see above
        spent = time.monotonic() - begin
        world = isinstance(error, RooftreeError)
        message = str(error) if world else f"the judge broke: {type(error).__name__}: {error}"
        return JudgedCase(case=case, verdict=None, message=message, seconds=spent)
    return JudgedCase.of(case, evaluation, seconds=time.monotonic() - begin)


@contextmanager
def opened(factory: Factory, task: KernelTask) -> Iterator[Evaluator]:
    """An evaluator that is closed in the end."""
    evaluator = factory(task, task.policy)
    try:
        yield evaluator
    finally:
        evaluator.close()


@contextmanager
def planted_secrets() -> Iterator[None]:
    """A secret in the environment, a listening port and a listening socket, for a while.

    An case that finds one of them raises, which none of them may.
    """
    before = os.environ.get(SECRET_VARIABLE)
    os.environ[SECRET_VARIABLE] = "canary"
    with ExitStack() as stack:
        port = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        port.bind(("127.0.0.1", 0))
        port.listen()
        local = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        local.bind(f"\0rooftree-corpus-{os.getpid()}")
        local.listen()
        try:
            yield
        finally:
            if before is None:
                del os.environ[SECRET_VARIABLE]
            else:
                os.environ[SECRET_VARIABLE] = before


def missing(needs: Sequence[str]) -> list[str]:
    """What of `needs` is not there: programs on the path, CUDA's headers, Python modules."""
    return [name for name in needs if not _is_there(name)]


def line(result: JudgedCase) -> str:
    """One line of progress."""
    mark = "-" if result.skipped else "WRONG" if result.wrong else "ok"
    reason = f" [{result.wrong}]" if result.wrong else ""
    told = not result.message or result.verdict is None
    said = "" if told else f": {_first_line(result.message)}"
    return f"{mark:5} {result.case.name}: {result.text}, {result.seconds:.1f} s{reason}{said}"


def _judged(
    group: Group,
    factory: Factory,
    found: CorpusRun,
    on_progress: Say,
    is_over: Callable[[], bool],
) -> Iterator[JudgedCase]:
    name = f"task {group.task.name} ({group.task.dialect})"
    on_progress(f"{name}, {len(group.cases)} cases")
    begin = time.monotonic()
    left = list(group.cases)
    try:
        with opened(factory, group.task) as evaluator:
            found.hardware = found.hardware or str(evaluator.hardware)
            on_progress(f"{name} ready after {time.monotonic() - begin:.1f} s")
            while left and not is_over():
                result = judge(evaluator, left[0])
                left.pop(0)
                yield result
    except (UnfairTask, WorldError) as error:
        # From the factory: the task is refused, or there is no evaluator to be had.
        for one in left:
            yield _without_judge(one, error, time.monotonic() - begin)


def _without_judge(case: CorpusCase, error: RooftreeError, seconds: float) -> JudgedCase:
    refused = isinstance(error, UnfairTask) and "task_refused" in case.expect
    return JudgedCase(
        case=case,
        verdict="task_refused" if refused else None,
        message=str(error),
        seconds=seconds,
    )


def _rank(case: CorpusCase) -> int:
    return _ORDER.get(case.kind, 1)


def _is_there(name: str) -> bool:
    if name == CUDA_HEADERS:
        return shutil.which("nvcc") is not None
    if shutil.which(name) is not None:
        return True
    return name not in _PROGRAMS and importlib.util.find_spec(name) is not None


def _first_line(text: str, *, most: int = 160) -> str:
    first = text.strip().partition("\n")[0]
    return first if len(first) <= most else f"{first[:most]}..."


def by_class(results: Sequence[JudgedCase]) -> Mapping[str, list[JudgedCase]]:
    """Outcomes by the class of their case, in the order they first come."""
    found: dict[str, list[JudgedCase]] = {}
    for result in results:
        found.setdefault(result.case.kind, []).append(result)
    return found
