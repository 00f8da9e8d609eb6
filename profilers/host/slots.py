"""How many compile at a time, and how one gets the machine for itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class Slots:
    """`count` places for threads."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = threading.Semaphore(count)
        self._alone = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a place; waits for one."""
        with self._free:
            yield

    @contextmanager
    def all(self) -> Iterator[None]:
        """Hold every place; waits until nobody has one."""
        with self._alone, ExitStack() as held:  # two that gather places would wait for each other
            for _ in range(self._count):
                held.enter_context(self._free)
            yield
