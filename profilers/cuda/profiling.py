"""Profiles of `cuda` candidates: builds them and asks the profiler for all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from mcts.domain import Candidate, Profile, Work
from mcts.ports import StageObserver
from profilers.compiling.building import Failed
from profilers.cuda.workplace import CudaWorkplace
from profilers.launching.requests import ProfilingRequest, profiled_buffers
from profilers.profiles.profiling import profile_all
from profilers.profiles.starts import enough_cores


def profile_candidates(
    place: CudaWorkplace,
    candidates: Sequence[Candidate],
    times_us: Sequence[float | None],
    *,
    tell: StageObserver,
    turn: Callable[[], AbstractContextManager[None]],
) -> list[Profile]:
    """Profiles on the heaviest workload under one start of the profiler, in order.

    `turn` holds the GPU, once all are built. The profile of what cannot be built says so. If there
    were counters, the next start is made ahead, which has nothing on the GPU until it is used; not
    on a host with few cores, where it would disturb what is timed next.
    """
    timed = place.task.timed_workload
    data, work = profiled_buffers(place.task.buffers, timed.shape), Work.of(place.task)
    requests: list[ProfilingRequest | str] = []
    for candidate, time_us in zip(candidates, times_us, strict=True):
        tell(candidate.id, "compiling")
        try:
            built = place.build(candidate)
        except Failed as failed:
            requests.append(f"not built: {failed}")
            continue
        call = built.calls[timed.name]
        requests.append(
            ProfilingRequest(
                cubin=built.compiled.cubin,
                call=call,
                data=data,
                work=work,
                time_us=time_us,
                timeline=len(call.launches) > 1,
            )
        )
    support = place.support()
    with turn():
        profiled = profile_all(
            requests,
            hardware=place.hardware,
            device=place.gpu.ordinal,
            support=support.cubin,
            starts=place.profiler_starts,
        )
        profiles = [item.profile for item in profiled]
        counted = any(kernel.metrics for profile in profiles for kernel in profile.kernels)
        if counted and enough_cores():
            place.profiler_starts.prepare()
    return profiles
