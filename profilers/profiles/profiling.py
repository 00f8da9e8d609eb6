"""Profiles of compiled variants: counters from ncu, facts from SASS, a timeline, the roofline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcts.domain import (
    Hardware,
    KernelProfile,
    Metric,
    Profile,
    SassFacts,
    TimelineFacts,
)
from mcts.errors import WorldError
from profilers import ncu
from profilers.launching.requests import ProfilingRequest, target_spec
from profilers.profiles.starts import ProfilerStart, ProfilerStarts
from profilers.roofline import classify
from profilers.sass import read_sass
from profilers.timeline.collecting import collect_timelines

TIMELINE, SASS = "timeline", "sass"
"""Keys in `Profile.missing` for a level of profiling that is missing as a whole."""
_START_S = 30.0
_PER_LAUNCH_S = 10.0
_READERS = 4
"""Cubins disassembled at once, each by processes of its own."""
MOST_RESTARTS = 8
"""Starts of the profiler for one batch: each after the first follows a kernel that ended it."""


@dataclass(slots=True)
class Counters:
    """The profiler's result for one variant: counters per launch, and what is missing."""

    launches: list[dict[str, Metric]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    hung: bool = False
    """It did not end and was killed; it is not run again."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile with the time per call in microseconds that its roofline is based on."""

    profile: Profile
    time_us: float | None


def profile_all(
    requests: Sequence[ProfilingRequest | str],
    *,
    hardware: Hardware,
    device: int,
    support: Path,
    starts: ProfilerStarts | None = None,
) -> list[Profiled]:
    """One profile per request, in order; a request that is a string is missing for that reason.

    All variants run in one profiled process, the one that waits if `starts` made it ahead. If one
    of them faults, the rest run in another.
    """
    todo = {i: item for i, item in enumerate(requests) if isinstance(item, ProfilingRequest)}
    readers = ThreadPoolExecutor(_READERS, "rooftree-sass")  # read while the GPU is profiled
    try:
        machine_code = {i: readers.submit(read_sass, item.cubin) for i, item in todo.items()}
        counters = _counters(
            todo, device=device, support=support, starts=starts or ProfilerStarts()
        )
        alive = {index: item for index, item in todo.items() if not counters[index].hung}
        timelines = _timelines(alive, device=device, support=support)
        profiled = []
        for index, item in enumerate(requests):
            if isinstance(item, str):
                nothing = Profile(missing={ncu.TOOL: item}, hardware=hardware)
                profiled.append(Profiled(nothing, None))
                continue
            read = machine_code[index]
            profiled.append(_profile(item, counters[index], read, timelines.get(index), hardware))
    finally:
        readers.shutdown(cancel_futures=True)
    return profiled


def _counters(
    requests: Mapping[int, ProfilingRequest], *, device: int, support: Path, starts: ProfilerStarts
) -> dict[int, Counters]:
    """Profile until every variant was tried; one that ends the process is left out."""
    found: dict[int, Counters] = {}
    for _ in range(MOST_RESTARTS):
        left = {index: item for index, item in requests.items() if index not in found}
        if not left:
            break
        with closing(starts.take()) as start:
            found |= _collect(left, device=device, support=support, start=start)
    given_up = Counters(missing={ncu.TOOL: "not profiled: too many others ended the process"})
    return {index: found.get(index, given_up) for index in requests}


def _collect(
    requests: Mapping[int, ProfilingRequest], *, device: int, support: Path, start: ProfilerStart
) -> dict[int, Counters]:
    """Run the profiler once; counters by request for the variants it got to, and for the one
    that ended it. What ncu collected before it had to be stopped is lost."""
    limit_s = _START_S + _PER_LAUNCH_S * sum(len(item.watched) for item in requests.values())
    collected = start.go(target_spec(requests, device, support, start.progress), limit_s=limit_s)
    report, lines = collected.report, collected.lines
    if lines is None:  # the profiler itself did not get that far
        return {index: Counters(missing=dict(report.missing)) for index in requests}
    reported = {line["variant"] for line in lines}
    culprit = next((index for index in requests if index not in reported), None)
    if collected.stopped and culprit is not None:
        late = f"the kernel had not ended after {limit_s:.0f} s and was stopped"
        return {culprit: Counters(missing={ncu.TOOL: late}, hung=True)}
    found = assign(report, lines, requests)
    if culprit is not None:
        ended = "the profiled process ended while this kernel ran"
        found[culprit] = Counters(missing={ncu.TOOL: ended})
    return found


def assign(
    report: ncu.NcuReport,
    lines: Sequence[Mapping[str, Any]],
    requests: Mapping[int, ProfilingRequest],
) -> dict[int, Counters]:
    """Assign the kernels of the report to the variants, in launch order and by name.

    A variant that the target did not get to is left out. One whose kernels are not all in the
    report says so in `missing`.
    """
    stream = iter(report.kernels)
    found: dict[int, Counters] = {}
    for line in lines:
        request = requests[line["variant"]]
        counters = found[line["variant"]] = Counters(missing=dict(report.missing))
        if "error" in line:
            counters.missing[ncu.TOOL] = f"not profiled: {line['error']}"
        for place, _ in request.watched[: line["launches"]]:
            name = request.call.steps[place].kernel
            kernel = next((item for item in stream if item.name == name), None)
            if kernel is None:
                counters.missing.setdefault(ncu.TOOL, f"ncu's report has no launch of {name}")
                break
            counters.launches.append(kernel.metrics)
    return found


def _timelines(
    requests: Mapping[int, ProfilingRequest], *, device: int, support: Path
) -> dict[int, Any]:
    wanted = {index: item for index, item in requests.items() if item.timeline}
    if not wanted:
        return {}
    return collect_timelines(wanted, device=device, support=support)


def _profile(
    request: ProfilingRequest,
    counters: Counters,
    machine_code: Future[dict[str, SassFacts]],
    timeline: Any,
    hardware: Hardware,
) -> Profiled:
    missing = dict(counters.missing)
    facts: dict[str, SassFacts] = {}
    try:
        facts = machine_code.result()
    except WorldError as error:
        missing[SASS] = str(error)
    launches = request.watched
    left_out = len(request.call.distinct()) - len(launches)
    if left_out:
        missing["launches"] = f"{left_out} further launches of the call were not profiled"
    metrics: list[dict[str, Metric]] = [*counters.launches]
    metrics += [{}] * (len(launches) - len(metrics))
    kernels = []
    for (place, count), values in zip(launches, metrics, strict=True):
        name = request.call.steps[place].kernel or ""
        kernels.append(
            KernelProfile(name=name, launches=count, metrics=values, sass=facts.get(name))
        )
    seen: TimelineFacts | None = None
    time_us = request.time_us
    if isinstance(timeline, str):
        missing[TIMELINE] = timeline
    elif counters.hung:
        missing[TIMELINE] = "not run again, because it does not end"
    elif timeline is not None:
        seen = timeline.facts
        time_us = time_us if time_us is not None else timeline.time_us
    profile = Profile(kernels=tuple(kernels), timeline=seen, missing=missing, hardware=hardware)
    if time_us is None:
        time_us = profiled_us(profile)
    roofline = classify(work=request.work, profile=profile, time_us=time_us)
    return Profiled(profile.model_copy(update={"roofline": roofline}), time_us)


def profiled_us(profile: Profile) -> float | None:
    """Microseconds of all launches under the profiler; None if one was not measured.

    Slower than a call really is: the profiler empties caches and runs launches apart.
    """
    times = [kernel.total_us for kernel in profile.kernels]
    known = [time for time in times if time is not None]
    return sum(known) if known and len(known) == len(times) else None
