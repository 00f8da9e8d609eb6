"""What a run is doing at this moment, as its journal tells it: intents without their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.text.quantities import clock
from experiments.text.stages import stage_words
from mcts.ports import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """One thing under way. `trial` is None for what belongs to no trial (a finalist measured
    again, a profile, a method weighed); `parent` is the node that the trial starts from.

    doing: in words. at: its stage in words that all at that stage share, by which they are counted.
    begun, since: when it began, and when its present `doing` did, in seconds of the clock that the
    events were stamped by.
    """

    doing: str
    at: str
    begun: float
    since: float
    trial: int | None = None
    parent: int | None = None


class Flights:
    """Follows the events. Trials in the order in which they were asked.

    Stages are told by some evaluators only; of others it is known that a candidate is measured.
    """

    def __init__(self) -> None:
        self._trials: dict[int, Flight] = {}
        self._measured: dict[int, int] = {}
        self._aside: dict[tuple[str, str], Flight] = {}
        self._asked: int | None = None
        self._profiled_for: dict[str, int] = {}

    def take(self, event: Event, at: float) -> None:
        """Read one event; KeyError if it is damaged."""
        payload = event.payload
        match event.kind:
            case "asked":
                self._ask(payload, at)
            case "told" | "abandoned" | "no_moves":
                self._trials.pop(payload["trial"], None)
                self._measured.pop(payload["trial"], None)
            case "resumed":
                self._start_again(at)
            case "stopped":
                self._trials.clear()
                self._start_again(at)
            case "confirming" | "profiling" | "removing":
                self._begin(event.kind, payload, at)
            case "confirmed" | "profiled" | "removed":
                self._end(_BEGUN[event.kind], payload, at)
            case "stage":
                self._enter(payload, at)
            case _:
                self._step(event.kind, payload, at)

    def _ask(self, payload: Mapping[str, Any], at: float) -> None:
        trial: int = payload["trial"]
        self._trials[trial] = Flight(
            doing=f"about to {_WANTED.get(payload['kind'], 'propose')}",
            at=_WAITING,
            begun=at,
            since=at,
            trial=trial,
            parent=payload["parent"],
        )
        self._asked = trial

    def _start_again(self, at: float) -> None:
        """What was out when the run was interrupted goes on with its trials alone."""
        self._aside.clear()
        self._profiled_for.clear()
        self._trials = {
            trial: replace(flight, begun=at, since=at) for trial, flight in self._trials.items()
        }

    def _begin(self, kind: str, payload: Mapping[str, Any], at: float) -> None:
        key = _aside_key(kind, payload)
        if kind == "profiling" and self._asked in self._trials:
            # A trial's parent is profiled between asking for the trial and its proposal.
            self._profiled_for[key[1]] = self._asked
            self._move(self._asked, _PARENT, at, group=_ASIDE[kind])
        else:
            self._aside[key] = Flight(doing=_ASIDE[kind], at=_ASIDE[kind], begun=at, since=at)

    def _end(self, kind: str, payload: Mapping[str, Any], at: float) -> None:
        key = _aside_key(kind, payload)
        self._aside.pop(key, None)
        if kind == "profiling" and (trial := self._profiled_for.pop(key[1], None)) is not None:
            self._move(trial, "about to propose", at, group=_WAITING)

    def _enter(self, payload: Mapping[str, Any], at: float) -> None:
        """An evaluator says what it does to a candidate."""
        words, candidate = stage_words(str(payload["stage"])), str(payload["candidate_id"])
        if (trial := payload.get("trial")) is not None:
            self._move(trial, f"{self._branch(trial)}{words}", at, group=words)
        elif (trial := self._profiled_for.get(candidate)) is not None:
            self._move(trial, _told_aside(_PARENT, "profiling", words), at, group=words)
        for (kind, key), flight in self._aside.items():
            if key == candidate:
                doing = _told_aside(flight.at, kind, words)
                self._aside[kind, key] = replace(flight, doing=doing, since=at)

    def _step(self, kind: str, payload: Mapping[str, Any], at: float) -> None:
        """A trial goes on, as the loop tells it. The baseline and ablations belong to no trial."""
        trial, doing = payload.get("trial"), _STEPS.get(kind)
        if kind == "measuring" and not trial:
            words = _ASIDE["removing"] if trial is None else _BASELINE
            key = kind, str(payload["candidate_id"])
            self._aside[key] = Flight(doing=words, at=words, begun=at, since=at)
        if kind in ("measured", "broken"):
            self._aside.pop(("measuring", str(payload.get("candidate_id"))), None)
        if trial not in self._trials or doing is None:
            return
        if trial == self._asked:
            self._asked = None
        if kind == "measured":
            self._measured[trial] = self._measured.get(trial, 0) + 1
        branch = self._branch(trial) if kind == "measuring" else ""
        self._move(trial, f"{branch}{doing}", at, group=doing)

    def _move(self, trial: int, doing: str, at: float, *, group: str) -> None:
        if (flight := self._trials.get(trial)) is not None:
            self._trials[trial] = replace(flight, doing=doing, at=group, since=at)

    def _branch(self, trial: int) -> str:
        """Which of a proposal's branches is looked at; nothing for its own candidate."""
        before = self._measured.get(trial)
        return f"branch {before + 1} " if before else ""

    @property
    def out(self) -> list[Flight]:
        """All that is under way, trials first."""
        return [*self._trials.values(), *self._aside.values()]

    @property
    def trials(self) -> int:
        return len(self._trials)


def counted(flights: Sequence[Flight]) -> str:
    """``5 proposing, 2 timing, 1 verifying``"""
    counts = Counter(flight.at for flight in flights)
    return ", ".join(f"{count} {at}" for at, count in counts.most_common())


def flight_words(flight: Flight, now_s: float) -> str:
    """``#7 timing 4 s, 21 s in all (from #3)``"""
    words = f"{flight.doing} {clock(now_s - flight.since)}"
    if flight.since - flight.begun >= 1:
        words += f", {clock(now_s - flight.begun)} in all"
    return words if flight.trial is None else f"#{flight.trial} {words} (from #{flight.parent})"


_WANTED = {"improve": "propose", "repair": "repair", "diversify": "propose another approach"}
_WAITING = "about to begin"
_PARENT = "profiling its parent"
_BASELINE = "measuring the baseline"
_STEPS = {
    "proposing": "proposing",
    "proposed": "to be measured",
    "measuring": "being measured",
    "measured": "done, waits for its turn",
    "rejected": "answered without usable code",
    "broken": "failed by the world",
}
_ASIDE = {
    "confirming": "measuring a finalist again",
    "profiling": "profiling",
    "removing": "weighing a method",
}
_BEGUN = {"confirmed": "confirming", "profiled": "profiling", "removed": "removing"}


def _told_aside(doing: str, kind: str, words: str) -> str:
    return doing if kind == words else f"{doing}: {words}"


def _aside_key(kind: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    return kind, str(payload["key" if kind == "removing" else "candidate_id"])
