"""Lines for people on standard error, once or while something takes its time."""

from __future__ import annotations

import errno
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0


def say(text: str) -> None:
    """Print a line on standard error, at once; nowhere if that was a terminal that is gone."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError as error:
        if error.errno != errno.EIO:
            raise


@contextmanager
def ticking(
    what: str, say: Callable[[str], None] = say, *, every_s: float = EVERY_S
) -> Iterator[Callable[[str], None]]:
    """Say `what` at once, and again with the seconds so far every `every_s` while the block lasts.

    The block gets a function that changes what later lines say. Nothing is said after the block.
    """
    words, left, began = [what], threading.Event(), time.monotonic()

    def tick() -> None:
        while not left.wait(every_s):
            say(f"{words[0]}, {time.monotonic() - began:.0f} s so far")

    def change(what: str) -> None:
        words[0] = what

    say(what)
    thread = threading.Thread(target=tick, name="ticking", daemon=True)
    thread.start()
    try:
        yield change
    finally:
        left.set()
        thread.join()
