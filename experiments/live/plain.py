"""Plain lines: for logs, for pipes, and for who wants no panel."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TextIO

from experiments.nodewords import fit
from experiments.spending_text import cost_text
from mcts.progress import Progress

PLAIN_INTERVAL_S = 5.0
_LAST = 200


class PlainLines:
    """A line per improvement and per finalist, and one every few seconds, for logs."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._best = 0.0
        self._last_line_at = -math.inf

    def __call__(self, progress: Progress) -> None:
        if progress.replaying:
            self._best = max(self._best, progress.best_speedup or 0.0)
            return
        best, now = progress.best_speedup or 0.0, self._clock()
        confirming = progress.phase == "confirming"
        improved = best > self._best and not confirming
        due = now - self._last_line_at >= PLAIN_INTERVAL_S
        if not (improved or confirming or due):
            return
        self._best, self._last_line_at = max(best, self._best), now
        shown = f"best {best:.2f}x" if best else "no result yet"
        mark = "+" if improved else " "
        spent = cost_text(progress.spending)
        of = f"/{progress.budget}" if progress.budget else ""
        print(
            f"{mark} {progress.evaluations:>4}{of}  {shown}  "
            f"failed {progress.failed}{f'  {spent}' if spent else ''}  "
            f"{fit(progress.last, _LAST)}",
            file=self._stream,
            flush=True,
        )
