"""Lines of a study with a model: task by task on each GPU, as far as their answers are there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from experiments.benchmarks.measurements.session import CostCap, Session, Show
from experiments.benchmarks.measurements.side_by_side import side_by_side
from experiments.benchmarks.measurements.waiting import Answers
from experiments.runs.wiring.gpus import one_gpu_each
from mcts.errors import AnswerPending
from mcts.options import JudgingOptions


class Unit(Protocol):
    """What a line is of: a run, or a step. `task_key` tells its task from the study's others."""

    @property
    def key(self) -> str: ...
    @property
    def task_key(self) -> str: ...


class Line(Protocol):
    """What is kept of a unit, and what it cost."""

    @property
    def key(self) -> str: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def replies(self) -> int: ...


UnitT = TypeVar("UnitT", bound=Unit)
LineT = TypeVar("LineT", bound=Line)
Taken = TypeVar("Taken")


class Means(Protocol):
    """Who asks and measures. `others_wait`: whether more tasks are left than there are GPUs."""

    others_wait: bool

    def measure_on(self, task: str, judging: JudgingOptions) -> None:
        """Have a task measured as `judging` says, which names one GPU of the session's."""

    def stop(self) -> None:
        """Ask and measure nothing more; idempotent."""


@dataclass(slots=True)
class Tally:
    """What a session did: units with a line, those that wait for an answer, and by their keys those
    that cannot be taken here, each with the reason. Thread-safe.
    """

    done: int = 0
    pending: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    _reasons: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def waits(self) -> None:
        """Count a unit that cannot go on without an answer."""
        with self._lock:
            self.pending += 1

    def leave_out(self, unit: Unit, why: str) -> bool:
        """Have a unit taken no more in this session; whether this is news of its task."""
        with self._lock:
            self.left_out[unit.key] = why
            known = (unit.task_key, why) in self._reasons
            self._reasons.add((unit.task_key, why))
            return not known


def missing_lines(
    units: Sequence[UnitT],
    known: Iterable[LineT],
    lines_of: Callable[[Sequence[UnitT]], Iterator[LineT]],
    means: Means,
    session: Session,
    tally: Tally,
    *,
    cost_usd: float | None,
    show: Show,
) -> Generator[LineT, None, None]:
    """The lines of all units that `known` has none of, as they come.

    `lines_of` is given the units of one task; those whose answers are not there yet it counts with
    `tally` and leaves for another time. WorldError once a line has brought the study's cost to
    `cost_usd`, InputError if that cannot be told; the line has been yielded by then.
    """
    there = {line.key: line for line in known}
    missing = [unit for unit in units if unit.key not in there]
    done = len(units) - len(missing)
    show(done, len(units))
    cap = CostCap(cost_usd, spent_usd=sum(line.cost_usd or 0.0 for line in there.values()))
    answers = Answers(session.model)
    while missing:
        tally.pending = 0
        answers.look()
        with closing(_once(missing, lines_of, means, session)) as lines:
            for line in lines:
                yield line
                missing = [unit for unit in missing if unit.key != line.key]
                done, tally.done = done + 1, tally.done + 1
                show(done, len(units))
                cap.pay(line.cost_usd, replies=line.replies)
        missing = [unit for unit in missing if unit.key not in tally.left_out]
        if not tally.pending or not answers.more():
            return


def _once(
    units: Sequence[UnitT],
    lines_of: Callable[[Sequence[UnitT]], Iterator[LineT]],
    means: Means,
    session: Session,
) -> Generator[LineT, None, None]:
    """One task after the other on each GPU."""

    def of_task(task: str, gpu: JudgingOptions) -> Iterator[LineT]:
        means.measure_on(task, gpu)
        return lines_of([unit for unit in units if unit.task_key == task])

    tasks = list(dict.fromkeys(unit.task_key for unit in units))
    gpus = list(one_gpu_each(session.judging).values())
    means.others_wait = len(tasks) > len(gpus)
    return side_by_side(tasks, gpus, of_task, stop=means.stop)


def taken(
    units: Sequence[UnitT],
    take: Callable[[UnitT], Taken | None],
    tally: Tally,
    *,
    at_once: int,
    name: str,
    stop: Callable[[], None],
) -> Generator[Taken, None, None]:
    """What `take` gives for each unit, as they come, from threads called `name`.

    Nothing is yielded for None and for a unit that waits for an answer. What else `take` raises
    ends them all: `stop` has those under way give up. Close it if you leave it early.
    """
    with ThreadPoolExecutor(min(at_once, len(units)), name) as pool:
        futures = [pool.submit(take, unit) for unit in units]
        try:
            for future in as_completed(futures):
                try:
                    found = future.result()
                except AnswerPending:
                    tally.waits()
                    continue
                if found is not None:
                    yield found
        except BaseException:
            stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
