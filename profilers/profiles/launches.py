"""The kernels of one call, from the launches that a profiler reports.

A call without a launch plan may launch anything any number of times, library kernels included.
Launches of the same name and size count as one kernel; what was not profiled is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from mcts.domain import KernelProfile, Metric, SassFacts
from mcts.domain import metrics as m
from profilers.kernel_names import bare_name
from profilers.ncu import LAUNCHES, NcuKernel

MOST_NAMED = 4
LONGEST_NAME = 100
_RESULT = re.compile(r"^(?:static |void )+")

Key = tuple[str, int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedKernel:
    """A kernel of a call, from a trace: its full name, blocks, threads per block.

    `launches` and `us` are per call: how often it ran, and how long in all.
    """

    name: str
    blocks: int | None = None
    threads: int | None = None
    launches: int = 1
    us: float = 0.0

    @property
    def key(self) -> Key:
        return bare_name(self.name), self.blocks, self.threads


def batches(
    launched: Sequence[TracedKernel], *, most: int, runs: int, least: float
) -> list[list[str]]:
    """Bare names by run of the profiler, longest kernels first.

    A run profiles its first `most` launches; a kernel with more than that gets a run of its own.
    If all fit, there is one run. Kernels are left out after `runs` runs, or if the rest takes less
    than the share `least` of the time. Empty if nothing was traced.
    """
    counts: dict[str, int] = {}
    times: dict[str, float] = {}
    for item in launched:
        name = bare_name(item.name)
        counts[name] = counts.get(name, 0) + item.launches
        times[name] = times.get(name, 0.0) + item.us
    total = sum(times.values())
    left = sorted(counts, key=lambda name: -times[name])
    found: list[list[str]] = []
    while left and len(found) < runs:
        if found and sum(times[name] for name in left) < least * total:
            break
        chosen, room = [left[0]], most - counts[left[0]]
        for name in left[1:]:
            if counts[name] <= room:
                chosen.append(name)
                room -= counts[name]
        found.append(chosen)
        left = [name for name in left if name not in chosen]
    return found


@dataclass(slots=True)
class _ProfiledLaunches:
    """The profiled launches of one name and size."""

    launches: list[dict[str, Metric]] = field(default_factory=list)

    @property
    def typical(self) -> dict[str, Metric]:
        """The counters of the launch of median duration, or of the first if durations are
        unknown."""
        timed = [one for one in self.launches if m.DURATION in one]
        if not timed:
            return self.launches[0]
        middle = median_low([one[m.DURATION].value for one in timed])
        return next(one for one in timed if one[m.DURATION].value == middle)


def kernel_profiles(
    profiled: Iterable[NcuKernel],
    launched: Sequence[TracedKernel],
    *,
    sass: Mapping[str, SassFacts],
    is_library: Callable[[str], bool],
) -> tuple[tuple[KernelProfile, ...], dict[str, str]]:
    """Kernels in the order of a call, and what was not profiled, for `Profile.missing`.

    Of a kernel that was traced alone, the trace's time is all that is known. If nothing was traced
    or `profiled`, they are those of the machine code.
    """
    seen: dict[Key, _ProfiledLaunches] = {}
    for one in profiled:
        seen.setdefault(_key(one), _ProfiledLaunches()).launches.append(one.metrics)
    traced: dict[Key, list[TracedKernel]] = {}
    for item in launched:
        traced.setdefault(item.key, []).append(item)
    if not seen and not traced:
        return tuple(KernelProfile(name=name, sass=facts) for name, facts in sass.items()), {}
    full_names = {bare_name(item.name): item.name for item in sorted(launched, key=_time)}
    # If trace and profile disagree on a kernel's size, it is still the same kernel.
    elsewhere = {key[0] for key in seen if key not in traced}
    kernels = []
    for key in [*traced, *(key for key in seen if key not in traced)]:
        if key not in seen and key[0] in elsewhere:
            continue
        known = traced.get(key, [])
        full = max(known, key=_time).name if known else full_names.get(key[0], key[0])
        library = is_library(full)
        count = sum(item.launches for item in known) or len(seen[key].launches)
        kernels.append(
            KernelProfile(
                name=shown_name(full) if library else key[0],
                launches=count,
                metrics=seen[key].typical if key in seen else _traced_time(known, count),
                sass=None if library else sass.get(full, sass.get(key[0])),
                library=library,
            )
        )
    left_out = [
        item for item in launched if seen and item.key not in seen and item.key[0] not in elsewhere
    ]
    return tuple(kernels), _missing(left_out, launched)


def _time(item: TracedKernel) -> float:
    return item.us


def _traced_time(known: Sequence[TracedKernel], launches: int) -> dict[str, Metric]:
    """The mean time of a launch by the trace."""
    us = sum(item.us for item in known)
    return {m.DURATION: Metric(value=us * 1e3 / launches, unit="ns")} if us else {}


def _key(kernel: NcuKernel) -> Key:
    def whole(metric: str) -> int | None:
        found = kernel.metrics.get(metric)
        return None if found is None else round(found.value)

    return kernel.name, whole(m.GRID), whole(m.BLOCK)


def _missing(left_out: Sequence[TracedKernel], launched: Sequence[TracedKernel]) -> dict[str, str]:
    if not left_out:
        return {}
    total = sum(item.us for item in launched) or 1.0
    longest = sorted(left_out, key=lambda item: -item.us)
    named = [f"{shown_name(item.name)} ({item.us / total:.0%})" for item in longest[:MOST_NAMED]]
    more = f" and {len(longest) - MOST_NAMED} more" if len(longest) > MOST_NAMED else ""
    share = sum(item.us for item in left_out) / total
    return {
        LAUNCHES: f"kernels of {share:.0%} of the call's time have no counters: "
        f"{', '.join(named)}{more}"
    }


def shown_name(full: str) -> str:
    """A kernel's name without result type and parameters, truncated if it is long."""
    name = _RESULT.sub("", full.strip())
    depth, end = 0, len(name)
    for place, mark in enumerate(name):
        if mark == "<":
            depth += 1
        elif mark == ">":
            depth = max(0, depth - 1)
        elif mark == "(" and depth == 0 and not name.startswith("(anonymous", place):
            end = place
            break
    name = name[:end].strip() or full.strip()
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
