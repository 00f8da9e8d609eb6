"""What one repair after another would gain: which cause limits once the one before is gone.

The most promising repair first, then the one that helps most with what is left, by the model of
the kernel's time (`microtools.gains`), until neither one nor two together bring `LEAST_GAIN` more:
of two units that are equally full the first repair gains nothing, and the second does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcts.microtool.kernel_context import KernelContext
from mcts.microtool.relief import Relief
from microtools.gains import STALLS, Outlook, outlook, wait_left
from microtools.ranking import LEAST_GAIN


@dataclass(frozen=True, slots=True)
class Step:
    """A repair, and the kernel after it and all those before: gain over the kernel as it is."""

    tool: str
    outlook: Outlook


def steps(context: KernelContext, reliefs: Mapping[str, Relief]) -> list[Step]:
    """In which order to repair, and what each step comes to; none if the kernel was not counted."""
    left = dict(reliefs)
    done = Relief()
    reached = 1.0
    found: list[Step] = []
    while chosen := _next(context, left, done, reached):
        for step in chosen:
            found.append(step)
            reached, done = step.outlook.gain, together(done, left.pop(step.tool))
    return found


def _next(
    context: KernelContext, left: Mapping[str, Relief], done: Relief, reached: float
) -> list[Step]:
    """The repair that gains most behind those `done`; two, if none gains alone; none if two do not
    either."""
    alone = _tried(context, left, done)
    if not alone:
        return []
    best = max(alone, key=lambda tool: alone[tool].gain)
    if _is_worth(alone[best].gain / reached):
        return [Step(best, alone[best])]
    pairs = {
        (first, second): both
        for first in alone
        for second, both in _tried(
            context,
            {tool: left[tool] for tool in alone if tool > first},
            together(done, left[first]),
        ).items()
    }
    if not pairs:
        return []
    first, second = max(pairs, key=lambda pair: pairs[pair].gain)
    if not _is_worth(pairs[first, second].gain / reached):
        return []
    begun = max((first, second), key=lambda tool: alone[tool].gain)
    ended = second if begun == first else first
    return [Step(begun, alone[begun]), Step(ended, pairs[first, second])]


def _tried(
    context: KernelContext, reliefs: Mapping[str, Relief], done: Relief
) -> dict[str, Outlook]:
    return {
        tool: after
        for tool, relief in reliefs.items()
        if (after := outlook(context, together(done, relief))) is not None
    }


def _is_worth(gain: float) -> bool:
    return round(gain, 2) >= LEAST_GAIN


def together(first: Relief, second: Relief) -> Relief:
    """Both repairs. Of what either leaves, the less counts: they may well save the same work."""
    work = {
        unit: min(first.work.get(unit, 1.0), second.work.get(unit, 1.0))
        for unit in {*first.work, *second.work}
    }
    waits = {
        stall: min(wait_left(first, stall), wait_left(second, stall))
        for stall in STALLS
        if stall in first.waits or stall in second.waits
    }
    return Relief(
        work,
        waits,
        min(first.parallel, second.parallel),
        min(first.span, second.span),
    )
