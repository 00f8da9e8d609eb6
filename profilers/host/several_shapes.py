"""The evaluator of problems with several workloads: one evaluator for each, and one verdict."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile, Timing, Verification
from mcts.domain.evaluation import ShapeTiming
from mcts.ports import Evaluator, StageObserver
from mcts.search.seeding import seed_from
from mcts.statistics import Interval, median_interval
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.measuring.weighted import Apart, timing_of_all, weighted_apart

Make = Callable[[KernelTask, KernelBenchSettings], Evaluator]
_LATENCY = frozenset(ShapeTiming.model_fields) - {"workload", "weight"}


class SeveralShapesEvaluator(Evaluator):
    """Judges candidates of a problem on all of its workloads, the heaviest first, on one GPU.

    A candidate that fails on one fails. Each workload is a problem of its own, with processes and
    memory of its own, made by `make` under settings that share the device's memory; all of them
    stay open, the heaviest until the others are closed. What `make` raises passes through.
    """

    name = "gpu"
    can_confirm = True

    def __init__(self, task: KernelTask, make: Make, *, settings: KernelBenchSettings) -> None:
        self.task = task
        self._tell: StageObserver = lambda _candidate_id, _stage: None
        self._lock = threading.RLock()
        self._each: dict[str, Evaluator] = {}
        share = settings.memory_share / len(task.workloads)
        ordered = sorted(task.workloads, key=lambda workload: -workload.weight)
        try:
            for workload in ordered:
                own = replace(
                    settings, memory_share=share, gpu_is_held=bool(self._each), alone=False
                )
                self._each[workload.name] = make(on_workload(task, workload.name), own)
        except BaseException:
            self.close()
            raise

    @property
    def hardware(self) -> Hardware:
        """The device, with the ceilings measured on it where they could be."""
        return self._heaviest.hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Judge `candidate` on every workload; the first on which it is not measured ends that."""
        with self._turn(candidate):
            return self._all(candidate, lambda judge: judge.evaluate(candidate))

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Measure once more on fresh seeds and in fresh processes, on every workload."""
        with self._turn(candidate):
            return self._all(candidate, lambda judge: judge.confirm(candidate, evaluation))

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The profile of a measured candidate on the heaviest workload."""
        with self._turn(candidate):
            return self._heaviest.profile(candidate, evaluation)

    def tell_stages(self, observer: StageObserver) -> None:
        """Tell `observer` at which stage each candidate is."""
        self._tell = observer
        for judge in self._each.values():
            judge.tell_stages(observer)

    def close(self) -> None:
        """Close the evaluators, the one that holds the GPU last; idempotent."""
        for judge in reversed(self._each.values()):
            judge.close()

    @property
    def _heaviest(self) -> Evaluator:
        return next(iter(self._each.values()))

    @contextmanager
    def _turn(self, candidate: Candidate) -> Iterator[None]:
        """Hold all evaluators, which would be in each other's way on the device."""
        if not self._lock.acquire(blocking=False):
            self._tell(candidate.id, "waiting")
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def _all(self, candidate: Candidate, judged: Callable[[Evaluator], Evaluation]) -> Evaluation:
        found: dict[str, Evaluation] = {}
        for workload, judge in self._each.items():
            one = judged(judge)
            if not one.measured:
                return one.model_copy(update={"message": f"on {workload}: {one.message}"})
            found[workload] = one
        first = next(iter(found.values()))
        return first.model_copy(
            update={
                "timing": self._timing(candidate, found),
                "verification": _verification(found.values()),
                "notes": _notes(found),
            }
        )

    def _timing(self, candidate: Candidate, found: dict[str, Evaluation]) -> Timing:
        weights = self.task.weights
        timings = {name: found[name].timing for name in weights}
        known = {name: timing for name, timing in timings.items() if timing is not None}
        shapes = tuple(
            ShapeTiming(
                **{name: getattr(timing, name) for name in _LATENCY},
                workload=workload,
                weight=weights[workload],
            )
            for workload, timing in known.items()
        )
        seed = seed_from("shapes", candidate.id)
        whole = weighted_apart([_apart(shape, seed) for shape in shapes])
        hosts = [shape.host_us for shape in shapes]
        host_us = (
            math.fsum(shape.weight * (shape.host_us or 0.0) for shape in shapes)
            if all(each is not None for each in hosts)
            else None
        )
        baseline = next(iter(known.values())).baseline
        return timing_of_all(self.task, whole, shapes, host_us=host_us, baseline=baseline)


def on_workload(task: KernelTask, workload: str) -> KernelTask:
    """The task of a problem on one of its workloads alone: its inputs are those of that one."""
    text = (task.reference or "").rstrip()
    own = (
        f"{text}\n\n\n_inputs_of = get_inputs\n\n\n"
        f"def get_inputs():\n    return _inputs_of({workload!r})\n"
    )
    baseline = task.baseline
    if baseline.source.startswith(text):
        baseline = Candidate(source=f"{own}\n\nModelNew = Model\n")
    (only,) = [one for one in task.workloads if one.name == workload]
    timed = only.model_copy(update={"weight": only.weight or 1.0})
    return task.model_copy(update={"reference": own, "baseline": baseline, "workloads": (timed,)})


def _apart(shape: ShapeTiming, seed: int) -> Apart:
    return Apart(
        weight=shape.weight,
        baseline=median_interval(shape.baseline_samples_us or (shape.baseline_us,), seed),
        candidate=Interval(shape.low_us, shape.median_us, shape.high_us),
        speedup=Interval(shape.speedup_low, shape.speedup, shape.speedup_high),
    )


def _verification(found: Iterable[Evaluation]) -> Verification:
    """All rounds, and the greatest errors of any."""
    each = [one.verification for one in found if one.verification is not None]

    def greatest(name: str) -> float | None:
        values = [getattr(one, name) for one in each]
        return max((value for value in values if value is not None), default=None)

    return Verification(
        passed=True,
        rounds=sum(one.rounds for one in each),
        max_error=greatest("max_error"),
        worst_ratio=greatest("worst_ratio"),
        error_ratio=greatest("error_ratio"),
    )


def _notes(found: dict[str, Evaluation]) -> tuple[str, ...]:
    """Each remark once; those that not all workloads have, with the first that has it."""
    notes: dict[str, str] = {}
    for workload, one in found.items():
        for note in one.notes:
            everywhere = all(note in other.notes for other in found.values())
            notes.setdefault(note, note if everywhere else f"on {workload}: {note}")
    return tuple(notes.values())
