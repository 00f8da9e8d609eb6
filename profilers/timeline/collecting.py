"""Timelines of compiled variants: their calls, repeated in a process that is recorded.

Recorded with nsys if it works here, or else by CUPTI in the process itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profilers.children.processes import child_environment
from profilers.children.supervised import last_lines, run_to_end
from profilers.launching.requests import ProfilingRequest, read_progress, target_spec
from profilers.timeline import nsys
from profilers.timeline.activities import TimelineReport
from profilers.timeline.cupti import NO_CUPTI
from profilers.timeline.windows import CallTimeline, between_marks, call_timeline

__all__ = ["CallTimeline", "collect_timelines"]

_START_S = 60.0
_PER_VARIANT_S = 10.0
_RESTARTS = 4

Requests = Mapping[int, ProfilingRequest]


def collect_timelines(
    requests: Requests,
    *,
    device: int,
    support: Path,
    timeout_s: float | None = None,
    env: Mapping[str, str] | None = None,
) -> dict[int, CallTimeline | str]:
    """The timeline of each request's call, or in one sentence why there is none.

    All variants run in one process, which is killed past `timeout_s`; after a fault or a hang, the
    rest run in another. Of `env` (default: ours) only allow-listed variables reach it.
    """
    run = _Recorder(device=device, support=support, env=child_environment(env), timeout_s=timeout_s)
    found: dict[int, CallTimeline | str] = {}
    reasons: list[str] = []
    for attempt in (run.with_nsys, run.with_cupti):
        reason = _collect_all(attempt, requests, found)
        if reason is None:
            break
        reasons.append(reason)
    return {index: found.get(index, "; ".join(reasons)) for index in requests}


@dataclass(slots=True)
class RecordingOutcome:
    """The result of one recorded process: timelines and faults by request.

    `reason` says why this way of recording cannot give the rest. Without a reason, the rest may be
    tried again in a fresh process.
    """

    found: dict[int, CallTimeline | str] = field(default_factory=dict)
    reason: str | None = None


def _collect_all(
    attempt: Callable[[Requests], RecordingOutcome],
    requests: Requests,
    found: dict[int, CallTimeline | str],
) -> str | None:
    """Run processes until all of `requests` are in `found`; return why some are not, if any."""
    for _ in range(_RESTARTS):
        left = {index: item for index, item in requests.items() if index not in found}
        if not left:
            return None
        outcome = attempt(left)
        found.update(outcome.found)
        if outcome.reason is not None:
            return None if len(outcome.found) == len(left) else outcome.reason
    return "too many variants ended the recorded process"


@dataclass(frozen=True, slots=True)
class _Recorder:
    """How recorded processes are started."""

    device: int
    support: Path
    env: Mapping[str, str]
    timeout_s: float | None

    def with_nsys(self, requests: Requests) -> RecordingOutcome:
        with tempfile.TemporaryDirectory(prefix="rooftree-timeline-") as name:
            command, progress = self._target(Path(name), requests, "nsys")
            report = nsys.profile_program(
                command, env=self.env, cwd=Path(name), timeout_s=self._deadline(requests)
            )
            lines = read_progress(progress)
        outcome = RecordingOutcome(found=_faults(lines))
        if nsys.TOOL in report.missing:
            outcome.reason = report.missing[nsys.TOOL]
            return outcome
        for line in lines:
            if "mark" not in line:
                continue
            seen = _window(report, line, requests[line["variant"]])
            if isinstance(seen, str):
                outcome.reason = seen
            else:
                outcome.found[line["variant"]] = seen
        if not outcome.found and outcome.reason is None:
            ended = report.missing.get(nsys.PROGRAM, "recorded nothing")
            outcome.reason = f"under nsys the recorded process {ended}"
        return outcome

    def with_cupti(self, requests: Requests) -> RecordingOutcome:
        with tempfile.TemporaryDirectory(prefix="rooftree-timeline-") as name:
            folder = Path(name).resolve()
            command, progress = self._target(folder, requests, "cupti")
            ended = run_to_end(
                command, env=self.env, cwd=folder, folder=folder,
                timeout_s=self._deadline(requests),
            )  # fmt: skip
            lines = read_progress(progress)
        outcome = RecordingOutcome(found=_faults(lines))
        for line in lines:
            if "seen" in line:
                outcome.found[line["variant"]] = CallTimeline.from_json(line["seen"])
            elif "unavailable" in line:
                outcome.reason = line["unavailable"]
        if ended.problem is None or outcome.reason is not None:
            return outcome
        if not lines and not ended.stopped:
            said = last_lines(ended.output, 1)
            own = ended.code == NO_CUPTI and said
            outcome.reason = said if own else f"the recorded process {ended.problem}"
        elif not any("fatal" in line for line in lines):
            # It hung or crashed in the variant that it was running.
            at = next(index for index in requests if index not in outcome.found)
            outcome.found[at] = f"not recorded: the process {ended.problem}"
        return outcome

    def _target(self, folder: Path, requests: Requests, way: str) -> tuple[list[str], Path]:
        progress, spec = folder / "progress.jsonl", folder / "spec.json"
        spec.write_text(json.dumps(target_spec(requests, self.device, self.support, progress)))
        command = [sys.executable, "-m", "profilers.timeline.target", str(spec), way]
        return command, progress

    def _deadline(self, requests: Requests) -> float:
        return self.timeout_s or _START_S + _PER_VARIANT_S * len(requests)


def _window(
    report: TimelineReport, line: Mapping[str, Any], request: ProfilingRequest
) -> CallTimeline | str:
    """The window of a variant in the report of nsys, located by the markers around it."""
    part = between_marks(report, line["mark"])
    if part is None:
        return "nsys lost what it recorded of some variants"
    return call_timeline(
        part,
        kernels=[step.kernel or "" for step in request.call.launches],
        repetitions=line["repetitions"],
        time_us=line["time_us"],
        source="nsys",
    )


def _faults(lines: list[dict[str, Any]]) -> dict[int, CallTimeline | str]:
    """Faults of the variants themselves, which no other way of recording would avoid."""
    return {line["variant"]: f"not recorded: {line['error']}" for line in lines if "error" in line}
