"""Whether to go over a study's tasks once more: when answers have come meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

from codegen.chat.queue import waiting
from mcts.options import ModelOptions

_POLL_S = 0.5


class Answers:
    """The questions of a session that wait in a folder.

    A task whose questions have no reply yet gives its GPU to the next one. Once nothing is left to
    do, `more` waits for a reply, for as long as a request may take.
    """

    def __init__(self, model: ModelOptions) -> None:
        self._queue, self._patience_s = model.queue, model.given().get("timeout_s")
        self._open: list[Path] | None = None

    def more(self) -> bool:
        """Whether a question has been answered since the last call; waits until one is.

        False without a queue, and once patience ends.
        """
        if self._queue is None:
            return False
        ends = None if self._patience_s is None else time.monotonic() + self._patience_s
        while (now := waiting(self._queue)) == self._open:
            if ends is not None and time.monotonic() >= ends:
                return False
            time.sleep(_POLL_S if ends is None else min(_POLL_S, self._patience_s or _POLL_S))
        self._open = now
        return True
