"""What a trial is at, and how long it was at each: told by evaluators, kept in the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcts.journal.runlog import RunLog
from mcts.ports import Stage

PROPOSING, JUDGING, CONFIRMING = "proposing", "judging", "confirming"
"""Besides the stages of `mcts.ports.Stage`: asking a proposer, what an evaluator did not tell
apart, and all that finalists took."""


class StageClock:
    """Seconds by stage of one candidate; until a stage is told they are of `JUDGING`."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._at, self._since = clock, JUDGING, clock()
        self._seconds: dict[str, float] = {}

    def enter(self, stage: str) -> bool:
        """Whether it was at another stage until now."""
        if stage == self._at:
            return False
        self._charge()
        self._at = stage
        return True

    def seconds(self) -> dict[str, float]:
        """So far, to the millisecond; what took less is left out."""
        self._charge()
        rounded = {stage: round(seconds, 3) for stage, seconds in self._seconds.items()}
        return {stage: seconds for stage, seconds in rounded.items() if seconds}

    def _charge(self) -> None:
        now = self._clock()
        self._seconds[self._at] = self._seconds.get(self._at, 0.0) + now - self._since
        self._since = now


class StageBook:
    """Notes the stages of all that is being judged. Thread-safe.

    Each stage is jotted down for whoever watches; the sums go with the result, to stay.
    """

    def __init__(self, log: RunLog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._open: dict[str, tuple[StageClock, Mapping[str, Any]]] = {}

    @contextmanager
    def of(self, place: Mapping[str, Any]) -> Iterator[StageClock]:
        """Time what happens inside to the candidate that `place` names; `place` goes with each
        note."""
        candidate_id: str = place["candidate_id"]
        clock = StageClock(clock=self._clock)
        self._open[candidate_id] = clock, place
        try:
            yield clock
        finally:
            self._open.pop(candidate_id, None)

    def enter(self, candidate_id: str, stage: Stage) -> None:
        """What evaluators call; a candidate that is not being judged is nobody's."""
        found = self._open.get(candidate_id)
        if found is not None and found[0].enter(stage):
            self._log.jot("stage", {**found[1], "stage": stage})


def with_stages(payload: Mapping[str, Any], clock: StageClock) -> dict[str, Any]:
    """A journal's line with the seconds by stage, where there is any to tell."""
    seconds = clock.seconds()
    return {**payload, "stages": seconds} if seconds else dict(payload)


def stages_of(payload: Mapping[str, Any]) -> dict[str, float]:
    """What `with_stages` wrote; of a line without, what it says it took as `JUDGING`.

    ValueError, TypeError or AttributeError where it is damaged.
    """
    stages = payload.get("stages")
    if stages is None:
        seconds = float(payload.get("seconds", 0.0))
        return {JUDGING: seconds} if seconds else {}
    return {str(stage): float(seconds) for stage, seconds in dict(stages).items()}
