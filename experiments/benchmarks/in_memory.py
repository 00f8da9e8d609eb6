"""What a run needs that is repeated instead of resumed: a journal in memory, and no threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from mcts.ports import Event, Journal

P = ParamSpec("P")
T = TypeVar("T")


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


class SynchronousExecutor(Executor):
    """Runs everything at once in the calling thread: a replay answers in microseconds, in order."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - what a future is for
            future.set_exception(error)
        return future
