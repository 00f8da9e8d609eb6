"""Who is alive: every member beats, and every member may see that another has stopped.

Clocks of different machines are never compared. A heart counts as stopped when nothing of it
changed for a whole lease while this process watched; or, so that a fresh watcher need not wait
that long, when its last beat is a lease old by the folder's own clock and three more were missed
while this process watched.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Heartbeat, Role, Ticket
from mcts.errors import WorldError

BEATS_PER_LEASE = 12
_STILL_BEATS = 3
_KEPT_LEASES = 10
"""A stopped heart's file is removed after so many leases."""


def member_id() -> str:
    """A name for this process that no other has: host, process id and 40 random bits."""
    host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().partition(".")[0].lower())[:40]
    return f"{host}-{os.getpid()}-{secrets.token_hex(5)}"


class Heart:
    """Beats from a thread while open; what it says of its member may change at any time.

    A beat that cannot be written is left out: if that lasts, others take over, as they should.
    """

    def __init__(self, folder: JobFolder, *, role: Role, **facts: Any) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._beat = Heartbeat(
            id=member_id(), role=role, beat=0, host=socket.gethostname(), pid=os.getpid(), **facts
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rooftree-heart", daemon=True)

    @property
    def id(self) -> str:
        return self._beat.id

    def start(self) -> Self:
        """The first beat, which raises WorldError where it cannot be written; then the thread."""
        self._folder.beat(self._beat)
        self._thread.start()
        return self

    def say(self, **facts: Any) -> None:
        """Beat now, with changed facts."""
        with self._lock, suppress(WorldError):
            self._beat = self._beat.model_copy(update={**facts, "beat": self._beat.beat + 1})
            self._folder.beat(self._beat)

    def stop(self) -> None:
        """Stop beating and remove the heartbeat; idempotent."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        with suppress(WorldError):
            self._folder.leave(self.id)

    def _run(self) -> None:
        while not self._stopped.wait(self._folder.lease_s / BEATS_PER_LEASE):
            self.say()


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A member at the last look. Times in seconds, by the watcher's clock but for `age_s`.

    `changed_at` is when its heartbeat was first seen as it is, `still_s` how long that was before
    the last look, `moved` whether it ever changed while watched; `age_s` is the beat's age by the
    folder's clock.
    """

    heartbeat: Heartbeat | None
    stamp: tuple[int, float] | None
    changed_at: float
    still_s: float
    moved: bool
    age_s: float


class Watch:
    """What one process has seen of the members of a folder. `clock` is its own, in seconds.

    Not thread-safe.
    """

    def __init__(self, folder: JobFolder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder, clock
        self._seen: dict[str, _Sighting] = {}

    def look(self) -> None:
        """Read every heartbeat, and notice the absence of those whose jobs are taken."""
        beats = {beat.id: (beat, mtime) for beat, mtime in self._folder.heartbeats()}
        holders = {ticket.worker for ticket in self._folder.taken() if ticket.worker}
        folder_now = self._folder.clock() if beats else 0.0
        self._seen = {
            member: self._sighting(member, beats.get(member), folder_now)
            for member in beats.keys() | holders
        }
        for member, sighting in self._seen.items():
            if self.stopped(member) and sighting.age_s > _KEPT_LEASES * self._folder.lease_s:
                self._folder.leave(member)

    def _sighting(
        self, member: str, found: tuple[Heartbeat, float] | None, folder_now: float
    ) -> _Sighting:
        beat, mtime = found or (None, -math.inf)
        stamp = None if beat is None else (beat.beat, mtime)
        before, now = self._seen.get(member), self._clock()
        same = before is not None and before.stamp == stamp
        changed_at = before.changed_at if before is not None and same else now
        return _Sighting(
            heartbeat=beat,
            stamp=stamp,
            changed_at=changed_at,
            still_s=now - changed_at,
            moved=before is not None and (before.moved or not same),
            age_s=folder_now - mtime,
        )

    def stopped(self, member: str) -> bool:
        """Whether a member's heart had stopped at the last look; False for one not seen then."""
        sighting, lease_s = self._seen.get(member), self._folder.lease_s
        if sighting is None:
            return False
        old = sighting.age_s >= lease_s and sighting.still_s >= _STILL_BEATS * self._beat_s
        return old or sighting.still_s >= lease_s

    @property
    def _beat_s(self) -> float:
        return self._folder.lease_s / BEATS_PER_LEASE

    def alive(self, role: Role) -> list[Heartbeat]:
        """The members with this role whose hearts beat, by id."""
        return [
            sighting.heartbeat
            for member, sighting in sorted(self._seen.items())
            if sighting.heartbeat is not None
            and sighting.heartbeat.role == role
            and (sighting.moved or sighting.age_s < self._folder.lease_s)
            and not self.stopped(member)
        ]

    def expire(self) -> list[Ticket]:
        """Put back, or answer for good, the jobs of workers that stopped; which were put back."""
        return [
            ticket
            for ticket in self._folder.taken()
            if ticket.worker is not None
            and self.stopped(ticket.worker)
            and self._folder.fail(ticket, f"{ticket.worker} stopped")
        ]
