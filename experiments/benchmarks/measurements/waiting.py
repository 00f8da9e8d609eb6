"""Whether to go over a study's tasks once more: when answers have come meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

from codegen.chat.queue import answered
from mcts.options import ModelOptions

_POLL_S = 0.5


class Answers:
    """The answers of a session that come in files.

    A task whose questions have no reply yet gives its GPU to the next one. Once nothing is left to
    do, `more` waits for a reply, for as long as a request may take. What there is counts from the
    last `look` on, which comes before the tasks are gone over: a reply that comes while they are is
    not missed.
    """

    def __init__(self, model: ModelOptions) -> None:
        self._queue, self._patience_s = model.queue, model.given().get("timeout_s")
        self._seen: frozenset[Path] = frozenset()

    def look(self) -> None:
        """Take note of the answers that are there."""
        if self._queue is not None:
            self._seen = answered(self._queue)

    def more(self) -> bool:
        """Whether another answer is there than at the last look; waits until one is.

        False without a queue, and once patience ends.
        """
        if self._queue is None:
            return False
        ends = None if self._patience_s is None else time.monotonic() + self._patience_s
        while answered(self._queue) <= self._seen:
            if ends is not None and time.monotonic() >= ends:
                return False
            time.sleep(_POLL_S if ends is None else min(_POLL_S, self._patience_s or _POLL_S))
        return True
