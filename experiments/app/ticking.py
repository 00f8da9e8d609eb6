"""A sign of life while something takes its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0


@contextmanager
def ticking(
    what: str, say: Callable[[str], None], *, every_s: float = EVERY_S
) -> Iterator[Callable[[str], None]]:
    """Say `what` at once, and again with the seconds so far every `every_s` while the block lasts.

    The block gets a function that changes what later lines say. Nothing is said once it is left.
    """
    said, left, began = [what], threading.Event(), time.monotonic()

    def tick() -> None:
        while not left.wait(every_s):
            say(f"{said[0]}, {time.monotonic() - began:.0f} s so far")

    def go_on(words: str) -> None:
        said[0] = words

    say(what)
    thread = threading.Thread(target=tick, name="ticking", daemon=True)
    thread.start()
    try:
        yield go_on
    finally:
        left.set()
        thread.join()
