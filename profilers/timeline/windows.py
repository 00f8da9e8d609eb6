"""A window of repeated calls: which operations and API calls belong to it, and its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcts.domain import TimelineFacts
from profilers.kernel_names import bare_name
from profilers.timeline import Source, kernel_times, summarise
from profilers.timeline.activities import Activity, ApiCall, TimelineReport, time_order

MARK = "rooftree_flush"
"""The marker kernel that the recorded process runs just before and just after a window."""


@dataclass(frozen=True, slots=True)
class CallTimeline:
    """The timeline of one call, repeated `facts.calls` times without waiting in between.

    `time_us` is the median time of a single call from a cold L2, by events; `kernel_times` holds
    the microseconds of each run of each kernel in the window.
    """

    facts: TimelineFacts
    time_us: float
    kernel_times: dict[str, list[float]]

    def to_json(self) -> dict[str, Any]:
        facts = self.facts.model_dump(mode="json")
        return {"facts": facts, "time_us": self.time_us, "kernel_times": self.kernel_times}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CallTimeline:
        return cls(
            TimelineFacts.model_validate(data["facts"]), data["time_us"], data["kernel_times"]
        )


def between_marks(report: TimelineReport, mark: int) -> TimelineReport | None:
    """The operations between marker number `mark` (from 0) and the next; None without markers."""
    marks = sorted((item for item in report.activities if item.name == MARK), key=time_order)
    if not 0 <= mark < len(marks) - 1:
        return None
    begin, end = marks[mark].end_ns, marks[mark + 1].start_ns
    inside = tuple(item for item in report.activities if begin <= item.start_ns < end)
    return TimelineReport(inside, report.api_calls, report.missing)


def call_timeline(
    report: TimelineReport,
    *,
    kernels: Sequence[str],
    repetitions: int,
    time_us: float,
    source: Source,
) -> CallTimeline | str:
    """The facts of a window that holds `kernels` in order, `repetitions` times, or why not."""
    seen = [
        item.name for item in sorted(report.activities, key=time_order) if item.kind == "kernel"
    ]
    launched = [bare_name(name) for name in kernels] * repetitions
    if seen != launched:
        return f"{source} saw {len(seen)} kernels in a window of {len(launched)} launches" + (
            "" if len(seen) != len(launched) else ", but not those that were launched"
        )
    calls = enqueuing(report.activities, report.api_calls)
    facts = summarise(report.activities, calls, source=source, calls=repetitions)
    if facts is None:
        return f"{source} saw no operation of the device in the window"
    return CallTimeline(facts, time_us, kernel_times(report.activities))


def enqueuing(activities: Sequence[Activity], calls: Sequence[ApiCall]) -> list[ApiCall]:
    """The API calls from the first to the last that enqueued one of the operations.

    Later calls are the recorded process waiting for its window; they do not belong to the call.
    """
    owners = {item.correlation for item in activities if item.correlation}
    own = [call for call in calls if call.correlation in owners]
    if not own:
        return []
    begin, end = min(call.start_ns for call in own), max(call.end_ns for call in own)
    return [call for call in calls if begin <= call.start_ns and call.end_ns <= end]
