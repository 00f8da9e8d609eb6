"""A stopwatch for measurements that share devices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SharedStopwatch:
    """Charges each second of a device once, however many threads wait for their turn on it.

    With n measurements in progress on d devices each is charged min(1, d / n) of the wall clock,
    so that the sum is at most the time for which the devices can have worked. Thread-safe.
    """

    def __init__(self, devices: int = 1, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._devices, self._clock = devices, clock
        self._lock = threading.Lock()
        self._charged: dict[object, float] = {}
        self._at = clock()

    @contextmanager
    def running(self) -> Iterator[Callable[[], float]]:
        """Time the block; it gets a function that returns the seconds charged so far."""
        token = object()
        with self._lock:
            self._advance()
            self._charged[token] = 0.0

        def seconds() -> float:
            with self._lock:
                self._advance()
                return self._charged[token]

        try:
            yield seconds
        finally:
            with self._lock:
                self._advance()
                del self._charged[token]

    def _advance(self) -> None:
        now = self._clock()
        if self._charged:
            share = (now - self._at) * min(1.0, self._devices / len(self._charged))
            for token in self._charged:
                self._charged[token] += share
        self._at = now
