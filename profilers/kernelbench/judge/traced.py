"""What a candidate's process told of its calls on the device: kernels, and a timeline.

It is a claim, and its form is one too: whatever is not of the agreed form raises `Unfaithful`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcts.domain import TimelineFacts
from profilers.kernel_names import bare_name
from profilers.kernelbench.judge.replies import forged
from profilers.profiles.launches import Launched
from profilers.timeline import summarise
from profilers.timeline.activities import Activity, ApiCall, Kind
from profilers.timeline.windows import enqueuing

_FIELDS = 9
_MOST = 50_000
_COPY = re.compile(r"Memcpy (\w)\w*to(\w)\w* \((\w+) -> (\w+)\)")
"""As PyTorch names copies: "Memcpy HtoD (Pageable -> Device)"."""


@dataclass(frozen=True, slots=True)
class Traced:
    """`calls` calls, one behind the other: the kernels of one, and the timeline of all.

    `left_out` says why some are not told, None where all are.
    """

    launched: tuple[Launched, ...] = ()
    timeline: TimelineFacts | None = None
    left_out: str | None = None


def traced(reply: Mapping[str, Any], *, calls: int) -> Traced:
    """What a worker answered for a trace of `calls` calls. Unfaithful for anything else."""
    found = reply.get("trace")
    if not isinstance(found, dict):
        raise forged("its trace is none")
    names, events, left_out = (found.get(part) for part in ("names", "events", "left_out"))
    if not isinstance(names, list) or not isinstance(events, list) or type(left_out) is not int:
        raise forged("its trace is none")
    sound = all(isinstance(name, str) for name in names) and len(events) <= _MOST
    if not sound or not all(_is_event(item, len(names)) for item in events):
        raise forged("its trace holds something else than events")
    told = [(kind, names[name], *rest) for kind, name, *rest in events]
    activities = tuple(_activity(item) for item in told if item[0] != "api")
    api = [_api_call(item) for item in told if item[0] == "api"]
    reason = f"{left_out} events were not told" if left_out else None
    return Traced(
        launched=_launched([item for item in told if item[0] == "kernel"], calls=calls),
        timeline=summarise(activities, enqueuing(activities, api), source="cupti", calls=calls),
        left_out=reason,
    )


def _is_event(item: Any, names: int) -> bool:
    if not isinstance(item, list) or len(item) != _FIELDS:
        return False
    numbers = all(type(value) is int and 0 <= value < 2**63 for value in item[1:])
    kinds = ("kernel", "copy", "memset", "api")
    return numbers and item[0] in kinds and item[1] < names and item[2] <= item[3]


def _api_call(item: tuple[Any, ...]) -> ApiCall:
    _, name, start, end, thread, correlation, *_ = item
    return ApiCall(name, start, end, correlation, thread)


def _activity(item: tuple[Any, ...]) -> Activity:
    kind, name, start, end, stream, correlation, moved, *_ = item
    direction, pageable = "", None
    if kind == "copy" and (copy := _COPY.match(name)):
        direction = f"{copy[1]}TO{copy[2]}".upper()
        pageable = "Pageable" in (copy[3], copy[4])
    return Activity(
        kind=cast(Kind, kind),
        name=bare_name(name) if kind == "kernel" else "",
        start_ns=start,
        end_ns=end,
        stream=stream,
        correlation=correlation,
        bytes=moved,
        copy_kind=direction,
        pageable=pageable,
    )


def _launched(kernels: Sequence[tuple[Any, ...]], *, calls: int) -> tuple[Launched, ...]:
    """One call's kernels by name and size, in the order of their first launch."""
    found: dict[tuple[str, int, int], list[int]] = {}
    for _, name, start, end, _stream, _correlation, _bytes, grid, block in kernels:
        found.setdefault((name, grid, block), []).append(end - start)
    return tuple(
        Launched(
            name=name,
            blocks=grid or None,
            threads=block or None,
            launches=max(1, round(len(times) / calls)),
            us=sum(times) / calls / 1e3,
        )
        for (name, grid, block), times in found.items()
    )
