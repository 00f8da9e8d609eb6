"""When a verdict must be there, whatever a candidate does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, Self


class Endable(Protocol):
    """A process that can be ended while another thread waits for its answer."""

    def hang_up(self) -> None:
        """Have it end, without waiting for that."""


class VerdictDeadline:
    """The end of a candidate's time. A context manager; `guard` and `cap` are thread-safe.

    Nothing is asked of its processes that could take longer. If the time runs out while the judge
    waits for something else, they are ended too, so that they hinder it no more. None seconds: it
    has all the time that its single steps have.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._lock = threading.Lock()
        self._guarded: set[Endable] = set()
        self._timer = threading.Timer(seconds or 0.0, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._end is not None:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def cap(self, timeout_s: float) -> float:
        """So long, or what is left of the time, in seconds."""
        if self._end is None:
            return timeout_s
        return max(0.0, min(timeout_s, self._end - time.monotonic()))

    @contextmanager
    def guard(self, process: Endable) -> Iterator[None]:
        """End `process` when the time is up."""
        with self._lock:
            self._guarded.add(process)
        if self.passed:
            process.hang_up()
        try:
            yield
        finally:
            with self._lock:
                self._guarded.discard(process)

    def _expire(self) -> None:
        with self._lock:
            for process in self._guarded:
                process.hang_up()


UNBOUNDED = VerdictDeadline(None)
"""For the baseline, whose code is trusted."""
