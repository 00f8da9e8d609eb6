"""Plain lines: for logs, for pipes, and for who wants no panel."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from experiments.live.board import Board
from experiments.live.flights import Flight, counted, flight_words
from experiments.text.nodes import fit
from experiments.text.spending import cost_text
from mcts.loop.progress import Progress

PLAIN_INTERVAL_S = 5.0
SILENCE_S = 30.0
"""Without a line from the search, after which one says what is under way."""
_LOOK_S = 1.0
_LAST = 200


class PlainLines:
    """A line per improvement and per finalist, one every few seconds while trials come in, and one
    every half a minute while none does. Thread-safe.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._stream, self._clock, self._now_s = stream, clock, now
        self._lock = threading.Lock()
        self._best = 0.0
        self._now: Progress | None = None
        self._last_line_at = -math.inf
        self._last_event_at = clock()

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            self._now, self._last_event_at = progress, self._clock()
            if progress.replaying:
                self._best = max(self._best, progress.best_speedup or 0.0)
                return
            best, confirming = progress.best_speedup or 0.0, progress.phase == "confirming"
            improved = best > self._best and not confirming
            due = self._last_event_at - self._last_line_at >= PLAIN_INTERVAL_S
            if not (improved or confirming or due):
                return
            self._best = max(best, self._best)
            self._say("+" if improved else " ", progress, progress.last)

    @property
    def silent(self) -> bool:
        """Whether it is time to say what is under way."""
        last = max(self._last_event_at, self._last_line_at)
        return self._clock() - last >= SILENCE_S

    def under_way(self, flights: Sequence[Flight]) -> None:
        """Say what takes so long, where nothing else was said for a while."""
        with self._lock:
            if not self.silent or not flights or self._now is None:
                return
            words = flight_words(min(flights, key=lambda flight: flight.begun), self._now_s())
            if len(flights) > 1:
                words = f"{counted(flights)}; longest {words}"
            self._say(" ", self._now, f"under way: {words}")

    def _say(self, mark: str, progress: Progress, words: str) -> None:
        self._last_line_at = self._clock()
        best = progress.best_speedup
        shown = f"best {best:.2f}x" if best else "no result yet"
        spent = cost_text(progress.spending)
        of = f"/{progress.budget}" if progress.budget else ""
        print(
            f"{mark} {progress.evaluations:>4}{of}  {shown}  "
            f"failed {progress.failed}{f'  {spent}' if spent else ''}  {fit(words, _LAST)}",
            file=self._stream,
            flush=True,
        )


@contextmanager
def spoken(lines: PlainLines, board: Board, follow: Callable[[], None]) -> Iterator[None]:
    """While the block lasts, say what is under way whenever the search says nothing for long.

    `follow` brings the board up to date; it is called only then.
    """
    left = threading.Event()

    def look() -> None:
        while not left.wait(_LOOK_S):
            if lines.silent:
                follow()
                lines.under_way(board.flights)

    thread = threading.Thread(target=look, name="under way", daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
