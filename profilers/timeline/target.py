"""The process whose timeline is recorded: it repeats each variant's call on random inputs.

Run as ``python -m profilers.timeline.target SPEC nsys|cupti``. With nsys, a marker kernel runs
before and after each variant's window, and the variant's progress line has the number of the
marker in launch order. With cupti the process records itself, and the line holds the facts, so
that they survive a fault of a later variant.
"""

from __future__ import annotations

import gc
import math
import sys
from pathlib import Path
from statistics import median
from typing import Any

from profilers.compiling.calls import Call
from profilers.launching.programs import PreparedCall
from profilers.launching.session import DeviceSession
from profilers.launching.target import run_variants
from profilers.timeline.cupti import NO_CUPTI, CuptiUnavailable, Recorder
from profilers.timeline.windows import call_timeline

LEAST_CALLS, MOST_CALLS = 3, 50
_WINDOW_US = 10_000.0
_TIMED_CALLS = 5
_SLOW_US = 20_000.0
_LAUNCHES_PER_FLUSH = 8


def main(arguments: list[str]) -> int:
    spec, recorder = Path(arguments[0]), None
    if arguments[1] == "cupti":
        try:
            recorder = Recorder()
        except CuptiUnavailable as error:
            print(error, flush=True)
            return NO_CUPTI
    gc.disable()  # a collection would be a gap on the timeline
    return run_variants(spec, RepeatedCalls(recorder))


class RepeatedCalls:
    """Runs a call repeatedly, between markers or under the recorder."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._marks = 0

    def __call__(
        self, session: DeviceSession, prepared: PreparedCall, variant: dict[str, Any]
    ) -> dict[str, Any]:
        """Time the call, then run a window of it; returns the fields of the progress line."""
        kernels = [step.kernel or "" for step in Call.from_json(variant["call"]).launches]
        prepared.enqueue()  # loads the kernels
        session.context.synchronize()
        times = self._times(session, prepared, len(kernels))
        line: dict[str, Any] = {
            "launches": len(kernels),
            "time_us": median(times),
            "warm_up": 1 + len(times),
            "operations": prepared.steps,
            "repetitions": repetitions(times[0]),
        }
        if self._recorder is None:
            return line | self._marked(session, prepared, line["repetitions"])
        return line | self._recorded(self._recorder, session, prepared, kernels, line)

    def _times(self, session: DeviceSession, prepared: PreparedCall, launches: int) -> list[float]:
        """Microseconds of single calls with a cold L2; the flush hides the launch overhead."""
        first, last = session.context.event(), session.context.event()
        times: list[float] = []
        while len(times) < _TIMED_CALLS:
            for _ in range(1 + launches // _LAUNCHES_PER_FLUSH):
                self._flush(session)
            session.context.record(first)
            prepared.enqueue()
            session.context.record(last)
            session.context.synchronize()
            times.append(max(last.us_since(first), 1e-3))  # the events' clock ticks
            if times[0] > _SLOW_US and len(times) == LEAST_CALLS:
                break
        return times

    def _marked(self, session: DeviceSession, prepared: PreparedCall, count: int) -> dict[str, Any]:
        mark = self._marks
        self._flush(session)
        session.context.synchronize()
        _repeat(session, prepared, count)
        self._flush(session)
        session.context.synchronize()
        return {"mark": mark}

    def _recorded(
        self,
        recorder: Recorder,
        session: DeviceSession,
        prepared: PreparedCall,
        kernels: list[str],
        line: dict[str, Any],
    ) -> dict[str, Any]:
        try:
            recorder.start()
            try:
                # The first calls after the start pay for what CUPTI sets up.
                prepared.enqueue()
                self._flush(session)
                session.context.synchronize()
                recorder.discard()
                _repeat(session, prepared, line["repetitions"])
                report = recorder.take()
            finally:
                recorder.stop()
        except CuptiUnavailable as error:
            return {"unavailable": str(error)}
        found = call_timeline(
            report,
            kernels=kernels,
            repetitions=line["repetitions"],
            time_us=line["time_us"],
            source="cupti",
        )
        return {"unavailable": found} if isinstance(found, str) else {"seen": found.to_json()}

    def _flush(self, session: DeviceSession) -> None:
        self._marks += 1
        session.flush()


def repetitions(call_us: float) -> int:
    """The number of calls that fill a window of some milliseconds."""
    return min(MOST_CALLS, max(LEAST_CALLS, math.ceil(_WINDOW_US / call_us)))


def _repeat(session: DeviceSession, prepared: PreparedCall, count: int) -> None:
    for _ in range(count):
        prepared.enqueue()
    session.context.synchronize()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
