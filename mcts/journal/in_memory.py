"""A journal in memory: what a run needs that is repeated instead of resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcts.ports import Event, Journal


class MemoryJournal(Journal):
    """A journal that is gone with the process."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        event = Event(len(self._events) + 1, kind, payload)
        self._events.append(event)
        return event

    def events(self) -> Iterator[Event]:
        return iter(tuple(self._events))
