"""Times of single launches and of batches, without comparing anything."""

from __future__ import annotations

import time
from typing import Any

from profilers.hardware import driver
from profilers.launching.programs import PreparedCall
from profilers.launching.session import DeviceSession


def median_event_us(
    session: DeviceSession, launch: driver.PreparedLaunch, *, repeats: int
) -> float:
    """Median time of one launch with a cold L2, for the probes behind the ceilings."""
    first, last = session.context.event(), session.context.event()
    samples = []
    for _ in range(repeats):
        session.flush()
        session.context.record(first)
        launch.enqueue(session.context.stream)
        session.context.record(last)
        session.context.synchronize()
        samples.append(last.us_since(first))
    return sorted(samples)[len(samples) // 2]


def case_call_us(session: DeviceSession, call: PreparedCall) -> float:
    """Run one call to its end and return its microseconds."""
    first, last = session.context.event(), session.context.event()
    session.context.record(first)
    call.enqueue()
    session.context.record(last)
    session.context.synchronize()
    return last.us_since(first)


def batch_us(session: DeviceSession, call: PreparedCall, calls: int) -> dict[str, Any]:
    """Time consecutive calls, in microseconds, by events and by the clock of this process."""
    first, last = session.context.event(), session.context.event()
    session.context.synchronize()
    begin = time.perf_counter()
    session.context.record(first)
    for _ in range(calls):
        call.enqueue()
    session.context.record(last)
    session.context.synchronize()
    host_us = (time.perf_counter() - begin) * 1e6
    return {"calls": calls, "host_us": host_us, "event_us": last.us_since(first)}
