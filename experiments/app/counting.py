"""How many of something are done: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.app.messages import say

EVERY_S = 10.0


@contextmanager
def counted(what: str, units: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function that takes how many `units` are done and how many there are: a bar on a
    terminal, otherwise a line every few seconds; both on standard error.
    """
    if not sys.stderr.isatty():
        yield _Lines(what, units)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    """Prints progress as lines, for logs."""

    def __init__(self, what: str, units: str) -> None:
        self._what, self._units, self._last = what, units, time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY_S or done == total:
            self._last = now
            say(f"{self._what}: {done}/{total} {self._units}")
