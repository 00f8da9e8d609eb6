"""Profiles of compiled variants: counters from ncu, facts from SASS, the roofline over both."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcts.domain import (
    DURATION,
    Hardware,
    KernelProfile,
    KernelTask,
    Metric,
    Profile,
    Roofline,
    SassFacts,
)
from mcts.errors import WorldError
from profilers import ncu
from profilers.calls import Call
from profilers.processes import child_environment
from profilers.roofline import classify
from profilers.sass import read_sass

_START_S = 60.0
_PER_LAUNCH_S = 10.0
_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class ProfilingRequest:
    """A variant to profile: its cubin, its call on the timed workload, its time where known."""

    cubin: Path
    call: Call
    time_us: float | None


@dataclass(slots=True)
class Counters:
    """What the profiler said about one variant: counters per launch, and what is missing."""

    launches: list[dict[str, Metric]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def profile_all(
    task: KernelTask,
    requests: Sequence[ProfilingRequest | str],
    *,
    hardware: Hardware,
    device: int,
    support: Path,
) -> list[Profile]:
    """One profile per request, in order; a request that is a text is missing for that reason.

    All variants run in one profiled process. Where one of them faults, the rest get another.
    """
    todo = {i: item for i, item in enumerate(requests) if isinstance(item, ProfilingRequest)}
    found: dict[int, Counters] = {}
    for _ in range(_RESTARTS):
        left = {index: item for index, item in todo.items() if index not in found}
        if not left:
            break
        seen = _collect(task, left, device=device, support=support)
        found.update(seen)
        if not seen or len(seen) == len(left):
            break
    profiles = []
    for index, item in enumerate(requests):
        if isinstance(item, str):
            profiles.append(Profile(missing={ncu.TOOL: item}))
            continue
        counters = found.get(index, Counters(missing={ncu.TOOL: "the profiled process ended"}))
        profiles.append(_profile(task, item, counters, hardware))
    return profiles


def _collect(
    task: KernelTask,
    requests: Mapping[int, ProfilingRequest],
    *,
    device: int,
    support: Path,
) -> dict[int, Counters]:
    """Run the profiler once; counters by request for the variants it got to."""
    launches = sum(len(item.call.launches) for item in requests.values())
    with tempfile.TemporaryDirectory(prefix="rooftree-profile-") as name:
        folder = Path(name)
        progress = folder / "progress.jsonl"
        spec = folder / "spec.json"
        spec.write_text(json.dumps(_spec(task, requests, device, support, progress)))
        report = ncu.collect(
            [sys.executable, "-m", "profilers.ncu_target", str(spec)],
            env=child_environment(),
            cwd=folder,
            timeout_s=_START_S + _PER_LAUNCH_S * launches,
        )
        lines = _read_progress(progress)
    if not report.kernels and not any("fatal" in line for line in lines):
        return {index: Counters(missing=dict(report.missing)) for index in requests}
    return assign(report, lines, requests)


def assign(
    report: ncu.NcuReport,
    lines: Sequence[Mapping[str, Any]],
    requests: Mapping[int, ProfilingRequest],
) -> dict[int, Counters]:
    """Deal the report's kernels out to the variants, in launch order and by name.

    A variant that the target did not get to is left out. One whose kernels are not all in the
    report says so in `missing`.
    """
    stream = iter(report.kernels)
    found: dict[int, Counters] = {}
    for line in lines:
        index = line["variant"]
        counters = found[index] = Counters(missing=dict(report.missing))
        if "error" in line:
            counters.missing[ncu.TOOL] = f"not profiled: {line['error']}"
        names = [step.kernel or "" for step in requests[index].call.launches]
        for name in names[: line["launches"]]:
            kernel = next((item for item in stream if item.name == name), None)
            if kernel is None:
                counters.missing.setdefault(ncu.TOOL, f"ncu's report has no launch of {name}")
                break
            counters.launches.append(kernel.metrics)
    return found


def _profile(
    task: KernelTask, request: ProfilingRequest, counters: Counters, hardware: Hardware
) -> Profile:
    missing = dict(counters.missing)
    facts: dict[str, SassFacts] = {}
    try:
        facts = read_sass(request.cubin)
    except WorldError as error:
        missing["sass"] = str(error)
    names = [step.kernel or "" for step in request.call.launches]
    metrics: list[dict[str, Metric]] = [*counters.launches]
    metrics += [{}] * (len(names) - len(metrics))
    kernels = tuple(
        KernelProfile(name=name, metrics=values, sass=facts.get(name))
        for name, values in zip(names, metrics, strict=True)
    )
    profile = Profile(kernels=kernels, missing=missing)
    return profile.model_copy(
        update={"roofline": _roofline(task, profile, request.time_us, hardware)}
    )


def _roofline(
    task: KernelTask, profile: Profile, time_us: float | None, hardware: Hardware
) -> Roofline | None:
    """The roofline at the measured time, else at the counters' own durations."""
    if time_us is None:
        durations = [kernel.value(DURATION) for kernel in profile.kernels]
        if not durations or None in durations:
            return None
        time_us = sum(value for value in durations if value is not None) / 1e3
    dominant = profile.dominant
    if dominant is None or time_us <= 0:
        return None
    return classify(
        task=task,
        shape=task.timed_workload.shape,
        metrics=dominant.metrics,
        hardware=hardware,
        time_us=time_us,
    )


def _spec(
    task: KernelTask,
    requests: Mapping[int, ProfilingRequest],
    device: int,
    support: Path,
    progress: Path,
) -> dict[str, Any]:
    shape = task.timed_workload.shape
    return {
        "device": device,
        "support": str(support),
        "progress": str(progress),
        "buffers": [
            {
                "name": buffer.name,
                "bytes": buffer.bytes(shape),
                "dtype": buffer.dtype,
                "fill": buffer.fill,
            }
            for buffer in task.buffers
        ],
        "variants": [
            {"index": index, "cubin": str(item.cubin), "call": item.call.to_json()}
            for index, item in requests.items()
        ],
    }


def _read_progress(path: Path) -> list[dict[str, Any]]:
    return list(_lines(path)) if path.is_file() else []


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the process was killed while it wrote
            return
