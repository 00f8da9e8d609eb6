"""What a run is doing at this moment, as its journal tells it: intents without their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcts.ports import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """One thing under way. `trial` is None for what belongs to no trial (a finalist measured
    again, a profile, a method weighed); `parent` is the node that the trial starts from.

    since: when its present `doing` began, in seconds of the clock that the events were stamped by.
    """

    doing: str
    since: float
    trial: int | None = None
    parent: int | None = None


class Flights:
    """Follows the events. Trials in the order in which they were asked."""

    def __init__(self) -> None:
        self._trials: dict[int, Flight] = {}
        self._measured: dict[int, int] = {}
        self._aside: dict[tuple[str, str], Flight] = {}

    def take(self, event: Event, at: float) -> None:
        """Read one event; KeyError where it is damaged."""
        payload = event.payload
        match event.kind:
            case "asked":
                self._trials[payload["trial"]] = Flight(
                    doing=f"about to {_WANTED.get(payload['kind'], 'propose')}",
                    since=at,
                    trial=payload["trial"],
                    parent=payload["parent"],
                )
            case "told" | "abandoned" | "no_moves":
                self._trials.pop(payload["trial"], None)
                self._measured.pop(payload["trial"], None)
            case "resumed":
                self._aside.clear()
            case "stopped":
                self._trials.clear()
                self._aside.clear()
            case "confirming" | "profiling" | "removing":
                self._begin(event.kind, payload, at)
            case "confirmed" | "profiled" | "removed":
                self._aside.pop(_aside_key(_BEGUN[event.kind], payload), None)
            case _:
                self._step(event.kind, payload, at)

    def _begin(self, kind: str, payload: Mapping[str, Any], at: float) -> None:
        self._aside[_aside_key(kind, payload)] = Flight(doing=_ASIDE[kind], since=at)

    def _step(self, kind: str, payload: Mapping[str, Any], at: float) -> None:
        """A trial goes on to its next stage."""
        trial, doing = payload.get("trial"), _STAGES.get(kind)
        if trial not in self._trials or doing is None:
            return
        if kind == "measured":
            self._measured[trial] = self._measured.get(trial, 0) + 1
        if kind == "measuring" and (before := self._measured.get(trial)):
            doing = f"branch {before + 1} being measured"
        self._trials[trial] = replace(self._trials[trial], doing=doing, since=at)

    @property
    def out(self) -> list[Flight]:
        """All that is under way, trials first."""
        return [*self._trials.values(), *self._aside.values()]

    @property
    def trials(self) -> int:
        return len(self._trials)


_WANTED = {"improve": "propose", "repair": "repair", "diversify": "propose another approach"}
_STAGES = {
    "proposing": "proposing",
    "proposed": "to be measured",
    "measuring": "being measured",
    "measured": "measured",
    "rejected": "answered without usable code",
    "broken": "the world failed it",
}
_ASIDE = {
    "confirming": "measuring a finalist again",
    "profiling": "profiling",
    "removing": "weighing a method",
}
_BEGUN = {"confirmed": "confirming", "profiled": "profiling", "removed": "removing"}


def _aside_key(kind: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    return kind, str(payload["key" if kind == "removing" else "candidate_id"])
