"""What a profiled process is asked to launch (variants, their calls, their buffers), and how far it
came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcts.domain import Buffer, Work
from profilers.compiling.calls import Call

MOST_LAUNCHES = 16
"""Distinct launches of one call that are profiled with counters; each costs tens of passes."""


@dataclass(frozen=True, slots=True)
class ProfiledBuffer:
    """A device buffer that the profiled call works on, and how it is filled."""

    name: str
    bytes: int
    dtype: str
    fill: str


def profiled_buffers(
    buffers: Sequence[Buffer], shape: Mapping[str, int]
) -> tuple[ProfiledBuffer, ...]:
    """`buffers` with their sizes for one set of shape values."""
    return tuple(
        ProfiledBuffer(item.name, item.bytes(shape), item.dtype, item.fill) for item in buffers
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingRequest:
    """A variant to profile.

    `time_us` is its measured time per call; if it is None, the timeline's time is used, else the
    counters'. `timeline` asks for a timeline as well, which shows little of a call of one kernel.
    """

    cubin: Path
    call: Call
    data: tuple[ProfiledBuffer, ...]
    work: Work | None = None
    time_us: float | None = None
    timeline: bool = False

    @property
    def watched(self) -> tuple[tuple[int, int], ...]:
        """Position and number of the launches that are profiled with counters."""
        return self.call.distinct()[:MOST_LAUNCHES]


def target_spec(
    requests: Mapping[int, ProfilingRequest], device: int, support: Path, progress: Path
) -> dict[str, Any]:
    """The specification for a profiled process: buffers by group, variants with their group."""
    groups: dict[tuple[ProfiledBuffer, ...], int] = {}
    variants = []
    for index, item in requests.items():
        group = groups.setdefault(item.data, len(groups))
        variants.append(
            {
                "index": index,
                "cubin": str(item.cubin),
                "call": item.call.to_json(),
                "watched": [place for place, _ in item.watched],
                "data": group,
            }
        )
    return {
        "device": device,
        "support": str(support),
        "progress": str(progress),
        "data": [
            [
                {"name": one.name, "bytes": one.bytes, "dtype": one.dtype, "fill": one.fill}
                for one in data
            ]
            for data in groups
        ],
        "variants": variants,
    }


def read_progress(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a progress file, none without one.

    Its process may have been killed while it wrote.
    """
    found = []
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found
