"""Which job a worker takes next, and which it leaves to others."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Answer, Job, Setup, Ticket

_STAY_S = 300.0
"""How long jobs of the task in hand come first while others wait."""


@dataclass(slots=True)
class Flight:
    """A job in hand: what came of it is set by its thread before that ends.

    `foreign` is this machine's hardware where the job asks for other; `unfit` is why this machine
    cannot judge the job's task; `broke` is why there is no answer otherwise.
    """

    ticket: Ticket
    job: Job
    thread: threading.Thread = field(init=False)
    started: float = field(default_factory=time.monotonic)
    answer: Answer | None = None
    broke: str = "its thread ended without an answer"
    foreign: str | None = None
    unfit: str | None = None


class Choices:
    """The queued jobs of a folder as one worker sees them. Not thread-safe.

    `unfit` is why this machine cannot judge a task, by the task's id.
    """

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._known: dict[str, Job] = {}
        self._foreign: set[tuple[str, str]] = set()
        self.unfit: dict[str, str] = {}
        self.began()

    def began(self) -> None:
        """A new task was begun: its jobs come first for a while."""
        self._since = time.monotonic()

    def leave_foreign(self, task_id: str, hardware: str) -> None:
        """Leave jobs of a task that is measured on `hardware` to others."""
        self._foreign.add((task_id, hardware))

    def leave_unfit(self, task_id: str, reason: str) -> None:
        """Leave all jobs of a task to others."""
        self.unfit = {**self.unfit, task_id: reason}

    def now(self, setup: Setup | None, *, settled: bool = False) -> list[tuple[Ticket, Job]]:
        """Jobs this worker may take, the best first.

        In a random order, so that workers do not race for the same one and none waits for ever;
        those for `setup`, which is in hand, first, and only those while it is `settled`.
        """
        found = [(ticket, job) for ticket, job in self._queued() if not self._is_left(job)]
        if settled:
            return [choice for choice in found if choice[1].setup == setup]
        if time.monotonic() - self._since < _STAY_S:
            found.sort(key=lambda choice: choice[1].setup != setup)
        return found

    def _queued(self) -> list[tuple[Ticket, Job]]:
        tickets = self._folder.queued()
        random.shuffle(tickets)
        found: list[tuple[Ticket, Job]] = []
        for ticket in tickets:
            job = self._known.get(ticket.job_id) or self._folder.job(ticket)
            if job is not None:
                found.append((ticket, job))
        self._known = {job.id: job for _, job in found}
        return found

    def _is_left(self, job: Job) -> bool:
        foreign = job.hardware is not None and (job.task_id, job.hardware) in self._foreign
        return foreign or job.task_id in self.unfit
