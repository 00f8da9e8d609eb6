"""Reads a worker's replies, which are untrusted in content and in form.

A candidate may make its process answer anything. Whatever is not of the agreed form is evidence of
that, and never an error of the judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from mcts.domain import CheatClass, Refusal, TimelineFacts
from profilers.kernel_names import bare_name
from profilers.kernelbench.judge.verdicts import Unfaithful
from profilers.profiles.launches import TracedKernel
from profilers.timeline import summarise
from profilers.timeline.activities import Activity, ApiCall, Kind
from profilers.timeline.windows import enqueuing

_CLASSES = frozenset(get_args(CheatClass))
_LONGEST_TEXT = 2000
_MOST_PROBLEMS = 100
_FIELDS = 9
_MOST = 50_000
_COPY = re.compile(r"Memcpy (\w)\w*to(\w)\w* \((\w+) -> (\w+)\)")
"""PyTorch's names of copies: "Memcpy HtoD (Pageable -> Device)"."""


def problems_of(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The guards' evidence. Unfaithful for anything else than a list of classes with evidence."""
    found = reply.get("problems", [])
    if not isinstance(found, list) or len(found) > _MOST_PROBLEMS:
        raise forged("its list of problems is none")
    for problem in found:
        cheat = problem.get("cheat") if isinstance(problem, dict) else None
        if not isinstance(cheat, str) or cheat not in _CLASSES:
            raise forged("its list of problems holds something else")
        problem["evidence"] = str(problem.get("evidence", ""))[:_LONGEST_TEXT]
    return found


def events_of(reply: Mapping[str, Any], *, calls: int) -> tuple[float, ...]:
    """Event times in microseconds, one per call. Unfaithful for anything else."""
    found = reply.get("events_us")
    if not isinstance(found, list) or len(found) != calls:
        raise forged(f"it was asked for {calls} event times and gives no such list")
    if not all(type(us) in (int, float) and 1e-4 < us < 1e12 for us in found):
        raise forged("its event times are no times")
    return tuple(float(us) for us in found)


def outputs_of(reply: Mapping[str, Any], *, calls: int) -> Sequence[Any]:
    """Coded outputs of each call, which the oracle checks. Unfaithful for anything else."""
    found = reply.get("outputs")
    if not isinstance(found, list) or len(found) != calls:
        raise forged(f"it was asked for the outputs of {calls} calls and gives no such list")
    return found


def text_of(reply: Mapping[str, Any], name: str) -> str | None:
    """A text, or None if there is none."""
    found = reply.get(name)
    if found is not None and not isinstance(found, str):
        raise forged(f"{name} is no text")
    return found[:_LONGEST_TEXT] if found else None


def names_of(reply: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts."""
    found = reply.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise forged(f"{name} is no list of names")
    return [item[:200] for item in found]


def kernels_of(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Kernels with their names and microseconds."""
    found = reply.get("kernels")
    if not isinstance(found, list):
        raise forged("its list of kernels is none")
    if not all(isinstance(one, dict) and _is_kernel(one) for one in found):
        raise forged("its list of kernels holds something else")
    return found


def _is_kernel(claim: Mapping[str, Any]) -> bool:
    us: Any = claim.get("us")
    timed = type(us) in (int, float) and 0 <= us < 1e12
    return timed and isinstance(claim.get("name"), str)


def forged(what: str) -> Unfaithful:
    """An answer that no honest process gives."""
    evidence = f"an answer is not of the agreed form: {what}"
    return Unfaithful(Refusal(cheat="forged_result", evidence=evidence))


@dataclass(frozen=True, slots=True)
class CallTrace:
    """Several calls in a row: the kernels of one, and the timeline of all.

    `left_out` says why some events are missing; None if none are.
    """

    launched: tuple[TracedKernel, ...] = ()
    timeline: TimelineFacts | None = None
    left_out: str | None = None


def read_trace(reply: Mapping[str, Any], *, calls: int) -> CallTrace:
    """A worker's trace of `calls` calls. Unfaithful for anything else."""
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
    return CallTrace(
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


def _launched(kernels: Sequence[tuple[Any, ...]], *, calls: int) -> tuple[TracedKernel, ...]:
    """One call's kernels by name and size, in the order of their first launch."""
    found: dict[tuple[str, int, int], list[int]] = {}
    for _, name, start, end, _stream, _correlation, _bytes, grid, block in kernels:
        found.setdefault((name, grid, block), []).append(end - start)
    return tuple(
        TracedKernel(
            name=name,
            blocks=grid or None,
            threads=block or None,
            launches=max(1, round(len(times) / calls)),
            us=sum(times) / calls / 1e3,
        )
        for (name, grid, block), times in found.items()
    )
