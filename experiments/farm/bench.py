"""The one evaluator a worker holds at a time, kept for as long as jobs of its task come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from experiments.farm.jobs import Setup, Terms, hardware_kind
from mcts.domain import KernelTask
from mcts.errors import WorldError
from mcts.ports import Evaluator

_CLOSE_S = 5.0


class UnfitMachine(WorldError):
    """This machine cannot judge the task, whoever asks; another may."""


class EvaluatorFactory(Protocol):
    """Builds this machine's evaluator of a task, to measure on the submitter's terms.

    `on_progress` takes a line about what it does. Raises InputError for a fault of the
    task, UnfitMachine where it is this machine that cannot, WorldError where something broke.
    """

    def __call__(
        self, task: KernelTask, terms: Terms, on_progress: Callable[[str], None]
    ) -> Evaluator: ...


class WorkBench:
    """An evaluator, built when its first job is done; `setup` is what for. Thread-safe.

    Whoever asks for another, or clears it, must know that no job is being done.
    """

    def __init__(self, factory: EvaluatorFactory, *, say: Callable[[str], None]) -> None:
        self._factory, self._say = factory, say
        self._lock = threading.Lock()
        self._evaluator: Evaluator | None = None
        self.setup: Setup | None = None
        self.hardware: str | None = None

    def evaluator(self, task: KernelTask, terms: Terms) -> Evaluator:
        """The evaluator of `task`, built where it is not there. Raises what building raises."""
        with self._lock:
            if self._evaluator is None or self.setup != (task.id, terms):
                self._clear()
                self._say(f"preparing task {task.name}")
                self._evaluator = self._factory(task, terms, self._say)
                self.setup = (task.id, terms)
                self.hardware = hardware_kind(self._evaluator.hardware)
            return self._evaluator

    def clear(self) -> None:
        """Close the evaluator; idempotent. One that is still being built is left to the end of
        the process."""
        if self._lock.acquire(timeout=_CLOSE_S):
            try:
                self._clear()
            finally:
                self._lock.release()

    def _clear(self) -> None:
        evaluator, self._evaluator = self._evaluator, None
        self.setup = None
        if evaluator is not None:
            evaluator.close()
