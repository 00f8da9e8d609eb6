"""The journal as the loop uses it: every answer is written once and found again on resume.

Resume is replay: the loop runs from the start, and whatever the journal already holds is taken
from there instead of being asked, paid for or measured again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from mcts.domain import Hardware
from mcts.errors import JournalError
from mcts.options.renamed import current_search, current_settings
from mcts.ports import Event, Journal

FORMAT = 1
_DEVICE = "device"
DAMAGES = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What reading an event ends in if it is damaged: fields are missing, of other types, or numbers
that nothing can be calculated with."""
_KEYS: Mapping[str, str] = {
    "asked": "trial",
    "proposing": "trial",
    "proposed": "trial",
    "priced": "trial",
    "restarted": "trial",
    "branched": "trial",
    "tuned": "key",
    "rejected": "trial",
    "no_moves": "trial",
    "unrecorded": "trial",
    "abandoned": "trial",
    "told": "trial",
    "measuring": "candidate_id",
    "measured": "candidate_id",
    "broken": "trial",
    "confirming": "candidate_id",
    "confirmed": "candidate_id",
    "profiling": "candidate_id",
    "profiled": "candidate_id",
    "advised": "node",
    "removing": "key",
    "removed": "key",
    "removal_priced": "key",
    "attributed": "key",
}

_BEFORE: Mapping[str, Any] = {
    "objective": "time",
    "search": "PuctSettings",
    "reward": {
        "calibrated_reward": True, "stepped_reward": True, "open_reward": False, "own_times": False,
    },
}  # fmt: skip
"""What runs did before a setting existed, so that theirs can be resumed."""


def as_started_now(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A `started` event as it would be written now: earlier names translated, the constants of the
    reward apart from those of the search, and what was not said yet as it was then.

    Raises JournalError if it is damaged.
    """
    now = {**_BEFORE, **payload}
    try:
        now["search"] = current_search(now["search"])
        settings = current_settings(now["search"], payload.get("settings", {}))
    except (AttributeError, TypeError) as error:
        raise JournalError(f"the run's journal is damaged: {error}") from error
    before: dict[str, bool] = _BEFORE["reward"]
    if "reward" not in payload:
        now["reward"] = {name: settings.pop(name, on) for name, on in before.items()}
    else:
        now["reward"] = {**before, **payload["reward"]}
    return {**now, "settings": settings}


def begun_on(events: Iterable[Event]) -> Hardware | None:
    """The hardware with the ceilings that a run began with; None if none was kept.

    A run of an earlier version has that of the first session that did keep it.
    """
    kept = (event.payload.get(_DEVICE) for event in events)
    return next((Hardware.model_validate(device) for device in kept if device), None)


def _key_of(event: Event) -> int | str:
    name = _KEYS[event.kind]
    key = event.payload.get(name)
    if not isinstance(key, int | str):
        raise JournalError(
            f"the run's journal is damaged: event {event.seq} ({event.kind}) names no {name}; "
            "rooftree report still shows what can be read, a new run is needed to go on"
        )
    return key


def _elapsed_of(event: Event) -> float:
    with reading_event(f"event {event.seq} ({event.kind})"):
        return float(event.payload.get("elapsed_s", 0.0))


def _check(event: Event) -> None:
    """Raise JournalError for what no event of ours has as usage, seconds, prior or reason."""
    with reading_event(f"event {event.seq} ({event.kind})"):
        usage = event.payload.get("usage", {})
        if not isinstance(usage, dict):
            raise TypeError("its usage is no object")
        if not all(isinstance(one, dict) for one in usage.get("unpriced") or ()):
            raise TypeError("its unpriced replies are no objects")
        float(event.payload.get("seconds", 0.0))
        if not 0.0 < event.payload.get("prior", 1.0) <= 1.0:
            raise ValueError("its prior is not in (0, 1]")
        if not isinstance(event.payload.get("reason", ""), str):
            raise TypeError("its reason is no text")


@contextmanager
def reading_event(what: str) -> Iterator[None]:
    """Raise JournalError, which names the event, for whatever its content leads to in the block."""
    try:
        yield
    except DAMAGES as error:
        raise JournalError(
            f"the run's journal is damaged: {what}: {' '.join(str(error).split())[:200]}"
        ) from None


class RunLog:
    """Appends events that are not there yet; answers from those that are. Thread-safe."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, int | str], Mapping[str, Any]] = {}
        self._started: Mapping[str, Any] | None = None
        self._device: Mapping[str, Any] | None = None
        self._elapsed_before = 0.0
        self._stopped: str | None = None
        for event in journal.events():
            self._stopped = event.payload.get("reason") if event.kind == "stopped" else None
            if event.kind == "started":
                self._started = event.payload
            self._device = self._device or event.payload.get(_DEVICE)
            if event.kind in _KEYS:
                _check(event)
                self._seen[event.kind, _key_of(event)] = event.payload
            self._elapsed_before = max(self._elapsed_before, _elapsed_of(event))
        self._clock = time.monotonic()

    @property
    def reward(self) -> Mapping[str, bool] | None:
        """The constants of the reward that the run began with; None of a new one."""
        if self._started is None:
            return None
        found: Mapping[str, bool] = as_started_now(self._started)["reward"]
        return found

    @property
    def stopped(self) -> str | None:
        """Why the search stopped that the journal ended with when it was opened; None if it was
        interrupted in a way that left it no time to say.
        """
        return self._stopped

    @property
    def elapsed_s(self) -> float:
        """Wall clock spent on the run, earlier sessions included."""
        return self._elapsed_before + time.monotonic() - self._clock

    def begin(self, settings: Mapping[str, Any], *, device: Mapping[str, Any]) -> None:
        """Open a new run, or check that the journal belongs to this one.

        `device` is the hardware in full, with its measured ceilings; it is kept once (`begun_on`)
        and not compared, since no two probes find the same.

        Raises JournalError when the journal was begun with other settings: its answers would
        then be given to questions that were never asked.
        """
        payload = {"format": FORMAT, **settings}
        if self._started is None:
            self._append("started", {**payload, _DEVICE: dict(device)})
            return
        started = as_started_now(self._started)
        for name, value in payload.items():
            if (before := started.get(name)) != value:
                raise JournalError(
                    f"this run was started with {name} = {before!r}, not {value!r}; resume it as "
                    "it was, or start a new run"
                )
        self._append("resumed", {} if self._device else {_DEVICE: dict(device)})

    def find(self, kind: str, key: int | str) -> Mapping[str, Any] | None:
        """The event of this kind for this trial or candidate, if it was ever written."""
        with self._lock:
            return self._seen.get((kind, key))

    def payloads(self, kind: str) -> list[Mapping[str, Any]]:
        """Every event of this kind, in the order they were written."""
        with self._lock:
            return [payload for (found, _), payload in self._seen.items() if found == kind]

    def write(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Append an event unless this trial or candidate already has one of its kind."""
        with self._lock:
            key = (kind, payload[_KEYS[kind]])
            if key not in self._seen:
                self._seen[key] = payload
                self._append(kind, payload)

    def confirm(self, kind: str, payload: Mapping[str, Any]) -> bool:
        """Like `write`, but an event that is there must say the same; returns whether it was.

        Raises JournalError if it does not: the search took another way than before.
        """
        before = self.find(kind, payload[_KEYS[kind]])
        differs = before is not None and any(
            before.get(name) != value for name, value in payload.items() if name != "elapsed_s"
        )
        if differs:
            raise JournalError(
                f"the journal does not match this search at trial {payload.get('trial')}: it was "
                "written by another version of Rooftree or has been edited; start a new run"
            )
        self.write(kind, payload)
        return before is not None

    def jot(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Note what nothing depends on.

        One that cannot be written is no error: the next event that counts meets the same.
        """
        with self._lock, suppress(JournalError):
            self._journal.jot(kind, payload)

    def stop(self, reason: str) -> None:
        with self._lock:
            self._append("stopped", {"reason": reason, "elapsed_s": round(self.elapsed_s, 3)})

    def _append(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._journal.append(kind, payload)
