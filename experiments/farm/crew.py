"""The workers of a folder, as whoever waits for their answers sees them."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable

from experiments.farm.folder import JobFolder
from experiments.farm.heart import BEATS_PER_LEASE, Watch
from experiments.farm.jobs import Heartbeat
from mcts.errors import WorldError

SAY_EVERY_S = 30.0


class Crew:
    """The workers of a folder as one submitter sees them. Thread-safe.

    `task_id` is the task that is asked about, `hardware` what it is measured on, once that is
    known.
    """

    def __init__(
        self,
        folder: JobFolder,
        *,
        task_id: str,
        wait_s: float | None,
        say: Callable[[str], None],
    ) -> None:
        self.hardware: str | None = None
        self._folder, self._task_id, self._wait_s, self._say = folder, task_id, wait_s, say
        self._watch = Watch(folder)
        self._busy = threading.Lock()
        self._looked_at = self._said_at = -float("inf")
        self._alone_s = 0.0
        """How long no worker was alive while somebody waited."""
        self._others: set[str] = set()

    def tend(self, *, waiting: int) -> None:
        """Look after the folder now and then. WorldError when no worker came for `wait_s`."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            now, pause_s = time.monotonic(), self._folder.lease_s / BEATS_PER_LEASE
            if (since_s := now - self._looked_at) >= pause_s:
                self._looked_at = now
                self._look(now, waiting, waited_s=min(since_s, 2 * pause_s))
        finally:
            self._busy.release()
        if self._wait_s is not None and self._alone_s >= self._wait_s:
            raise WorldError(
                f"no worker was alive for {self._alone_s:.0f} s: start one with {self._command}"
            )

    def _look(self, now: float, waiting: int, *, waited_s: float) -> None:
        self._watch.look()
        for ticket in self._watch.expire():
            self._say(f"{ticket.worker} stopped; its job goes to another worker")
        alive = self._watch.alive("worker")
        ours = [worker for worker in alive if self._fits(worker)]
        self._alone_s = 0.0 if ours else self._alone_s + waited_s
        if now - self._said_at >= SAY_EVERY_S:
            self._say(self._line(ours, waiting))
            self._said_at = now

    def _fits(self, worker: Heartbeat) -> bool:
        """Whether a worker can take jobs of this task; one that cannot is named once."""
        if reason := worker.unfit.get(self._task_id):
            self._name(worker, f"cannot judge this task and leaves it to others: {reason}")
            return False
        if None in (self.hardware, worker.hardware) or worker.hardware == self.hardware:
            return True
        self._name(
            worker,
            f"has {worker.hardware}: it gets no job of this task, which is measured on "
            f"{self.hardware}",
        )
        return False

    def _name(self, worker: Heartbeat, text: str) -> None:
        if worker.id not in self._others:
            self._others.add(worker.id)
            self._say(f"worker {worker.id} {text}")

    def _line(self, ours: list[Heartbeat], waiting: int) -> str:
        what = f"waiting for {waiting} job{'s' * (waiting != 1)} in {self._folder.path}"
        if not ours:
            return f"{what}: no worker is alive, start one with {self._command}"
        doing = sum(bool(worker.doing) for worker in ours)
        return f"{what}: {len(ours)} worker{'s' * (len(ours) != 1)} alive, {doing} busy"

    @property
    def _command(self) -> str:
        return f"rooftree worker {shlex.quote(str(self._folder.path))}"
