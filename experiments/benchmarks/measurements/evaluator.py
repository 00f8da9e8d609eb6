"""An evaluator that asks another one only for what is not known yet."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakMethod

from experiments.benchmarks.measurements.store import Kind, MeasurementStore
from experiments.runs.wiring.choosing import REPLAY
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile
from mcts.errors import InputError, Suspended, UnfitTask, WorldError
from mcts.journal.stages import StageClock
from mcts.ports import Evaluator, Stage, StageObserver

WAITING: Stage = "waiting"
AT_ONCE = 2
"""Candidates that are judged at a time for each device: one compiles while another is timed."""


def _itself(observer: StageObserver) -> StageObserver:
    return observer


class OtherGpu(InputError):
    """A study cannot go on on this machine: not the fault of one task."""


class StoredEvaluator(Evaluator):
    """Measures each candidate of a task once in a study, whoever asks. Thread-safe.

    `open` makes the evaluator that measures, at the first need; with None nothing is measured, and
    what is not in the store is a WorldError. `most_s` is how many seconds the study may measure for
    in all; beyond them nothing new is begun: Suspended is raised. `variant` keeps measurements by
    other rules apart, over another baseline say; a task that cannot be measured by them is not
    tried again, so that a study comes out the same whenever it is replayed. Unless `mixed_gpus`,
    OtherGpu is raised where something would be measured on another kind of GPU than the rest.

    `under_way` is how many candidates are being measured. The seconds that are kept are those of
    measuring, without those of waiting for another candidate. UnfitTask if the task cannot be
    measured.
    """

    def __init__(
        self,
        task: KernelTask,
        store: MeasurementStore,
        *,
        open: Callable[[], Evaluator] | None,
        most_s: float | None = None,
        variant: str = "",
        mixed_gpus: bool = False,
    ) -> None:
        self.task = task
        self._place = f"{task.id} {variant}".strip()
        self._store, self._open, self._most_s = store, open, most_s
        self._mixed_gpus = mixed_gpus
        self._lock = threading.RLock()
        self._locks: dict[str, threading.Lock] = {}
        self._slots: threading.Semaphore | None = None
        self._inner: Evaluator | None = None
        self._stopping = threading.Event()
        self._observers: list[Callable[[], StageObserver | None]] = []
        self._clocks: dict[str, StageClock] = {}
        self.under_way = 0
        self._is_variant = bool(variant)
        if (refusal := store.find(self._place, "", "refusal")) is not None:
            raise UnfitTask(str(refusal["why"]))
        known = store.find(self._place, "", "evaluator") or self._introduced()
        self.name, self.devices = str(known["name"]), int(known["devices"])
        self.can_confirm = bool(known["can_confirm"])
        self._hardware = Hardware.model_validate(known["hardware"])

    @property
    def hardware(self) -> Hardware:
        """What the study's first session measured on; its ceilings stay the measure."""
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        def measure(inner: Evaluator) -> Evaluation:
            return inner.evaluate(candidate)

        return Evaluation.model_validate(self._found(candidate, "evaluation", measure))

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        def measure(inner: Evaluator) -> Evaluation:
            return inner.confirm(candidate, evaluation)

        return Evaluation.model_validate(self._found(candidate, "confirmation", measure))

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        def measure(inner: Evaluator) -> Profile:
            return inner.profile(candidate, evaluation)

        return Profile.model_validate(self._found(candidate, "profile", measure))

    def tell_stages(self, observer: StageObserver) -> None:
        """Call `observer` too: each run that shares this evaluator has one.

        One that is a method is called as long as somebody else holds its object, so that a study
        does not keep the journals of all its runs.
        """
        held = WeakMethod(observer) if inspect.ismethod(observer) else partial(_itself, observer)
        with self._lock:
            self._observers = [one for one in self._observers if one() is not None] + [held]

    def stop(self) -> None:
        """Measure nothing more once what is being measured is done: Suspended is raised."""
        self._stopping.set()

    def close(self) -> None:
        with self._lock:
            if self._inner is not None:
                self._inner.close()
                self._inner = None

    def _found(
        self, candidate: Candidate, kind: Kind, measure: Callable[[Evaluator], Evaluation | Profile]
    ) -> Mapping[str, Any]:
        """The entry; measured now, by one thread, if there is none."""
        with self._lock:
            lock = self._locks.setdefault(candidate.id, threading.Lock())
        with lock:
            if (known := self._store.find(self._place, candidate.id, kind)) is not None:
                return known
            inner = self._opened(candidate, kind)
            assert self._slots is not None, "made with the evaluator"
            with self._slots:
                if self._stopping.is_set():
                    raise Suspended("the study was stopped")
                begin = time.monotonic()
                with self._timed(candidate) as clock:
                    payload = measure(inner).model_dump(mode="json")
                waited = clock.seconds().get(WAITING, 0.0)
                seconds = max(0.0, time.monotonic() - begin - waited)
            code = candidate.model_dump(mode="json")
            self._store.keep(self._place, candidate.id, "candidate", code, seconds=0.0)
            self._store.keep(self._place, candidate.id, kind, payload, seconds=seconds)
            return payload

    @contextmanager
    def _timed(self, candidate: Candidate) -> Iterator[StageClock]:
        """Count the candidate as one that is being measured, and time its stages."""
        clock = StageClock()
        with self._lock:
            self.under_way += 1
            self._clocks[candidate.id] = clock
        try:
            yield clock
        finally:
            with self._lock:
                self.under_way -= 1
                del self._clocks[candidate.id]

    def _tell(self, candidate_id: str, stage: Stage) -> None:
        if (clock := self._clocks.get(candidate_id)) is not None:
            clock.enter(stage)
        for held in self._observers:
            if (observer := held()) is not None:
                observer(candidate_id, stage)

    def _opened(self, candidate: Candidate, kind: Kind) -> Evaluator:
        if self._stopping.is_set():
            raise Suspended("the study was stopped")
        if self._most_s is not None and self._store.seconds >= self._most_s:
            raise Suspended(
                f"the study has measured for {self._store.seconds / 60:.1f} minutes, its cap is "
                f"{self._most_s / 60:g}: raise gpu_minutes to go on"
            )
        return self._measuring(f"the {kind} of {candidate.id}")

    def _measuring(self, what: str) -> Evaluator:
        """What measures. WorldError if nothing may."""
        with self._lock:
            if self._open is None:
                raise WorldError(f"the study's folder does not hold {what}")
            if self._inner is None:
                self._inner = self._open()
                self._inner.tell_stages(self._tell)
                self._check_gpu(self._inner)
                self._slots = threading.Semaphore(AT_ONCE * self._inner.devices)
            return self._inner

    def _check_gpu(self, inner: Evaluator) -> None:
        """OtherGpu for another kind of GPU than anything of the study was measured on."""
        before = self._store.hardware_names()
        if self._mixed_gpus or inner.name == REPLAY or not before - {inner.hardware.name}:
            return
        self.close()
        raise OtherGpu(
            f"the study was measured on {', '.join(sorted(before))} so far and this is "
            f"{inner.hardware.name}: their times do not compare; go on there, begin another "
            "study, or write mixed_gpus = true into it"
        )

    def _introduced(self) -> Mapping[str, Any]:
        """Who measures, kept with the task."""
        try:
            inner = self._measuring("who measured the task")
        except UnfitTask as error:
            if self._is_variant:
                self._store.keep(self._place, "", "refusal", {"why": str(error)}, seconds=0.0)
            raise
        known = {
            "name": inner.name,
            "devices": inner.devices,
            "can_confirm": inner.can_confirm,
            "hardware": inner.hardware.model_dump(mode="json", exclude_none=True),
        }
        self._store.keep(self._place, "", "evaluator", known, seconds=0.0)
        return self._store.find(self._place, "", "evaluator") or known
