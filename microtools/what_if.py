"""What one repair after another would gain: which cause limits once the one before is gone.

The most promising repair first, then the one that helps most with what is left, by the model of
the kernel's time (`microtools.gains`), until none alone brings `LEAST_GAIN` more: of two units that
are equally full neither is found.
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
    while left:
        tried = {
            tool: after
            for tool, relief in left.items()
            if (after := outlook(context, together(done, relief))) is not None
        }
        if not tried:
            break
        best = max(tried, key=lambda tool: tried[tool].gain)
        if round(tried[best].gain / reached, 2) < LEAST_GAIN:
            break
        found.append(Step(best, tried[best]))
        reached, done = tried[best].gain, together(done, left.pop(best))
    return found


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
