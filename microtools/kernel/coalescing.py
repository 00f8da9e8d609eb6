"""Lanes of a warp touch far more sectors than they use."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.accesses import Side, sides
from microtools.tool import BUSY, RUNNING, Case, Tool, capped, strength, where

EXCESS = 1.2
EXTRA_SECTORS = 1.5
"""Sectors per request in vain from which it is no mere misalignment, which costs one."""
WASTED = 0.10
"""Share of the kernel's global sectors below which one side's waste is not worth a word."""
MOST_GAIN = 4.0


def judge(case: Case) -> Finding | None:
    """Silent where neither the memory is busy nor warps wait for it.

    Without the counter of used bytes, 16 sectors per request may be 128-bit accesses: the widest
    access in the code then says how many are meant.
    """
    if not case.memory_matters:
        return None
    found = [side for side in sides(case) if _uncoalesced(side)]
    if not found:
        return None
    worst = max(found, key=lambda side: side.wasted)
    wasted = sum(side.wasted for side in found)
    lines = case.lines(*(side.field for side in found))
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=strength(worst.excess, EXCESS, 3.0),
        evidence=tuple(_evidence(worst, wasted)),
        advice=(
            f"Global {' and '.join(f'{side.name}s' for side in found)} are uncoalesced"
            f"{where(lines)}: a warp's {worst.name} touches "
            f"{worst.per_request:.1f} sectors where {worst.ideal:.1f} would do, so it uses "
            f"{1 / worst.excess:.0%} of what it moves. Make threadIdx.x the fastest-varying index "
            f"of the {worst.name} address, so that neighbouring lanes touch neighbouring elements "
            "(a structure of arrays instead of an array of structures). Where the algorithm needs "
            "the other order, move a tile coalesced into shared memory and reorder it there; where "
            "indices are irregular, sort or bin them first."
        ),
        methods=("memory.coalesced_access", "memory.shared_tiling"),
        expected_gain=_gain(case, wasted),
    )


def _gain(case: Case, wasted: float) -> float | None:
    """Where a memory level is busy, its time shrinks with the sectors; else nobody can say."""
    memory = case.value(m.MEMORY)
    if memory is None or memory < BUSY:
        return None
    return capped(wasted * memory / 100, MOST_GAIN)


def _uncoalesced(side: Side) -> bool:
    return side.excess > EXCESS and side.extra >= EXTRA_SECTORS and side.wasted >= WASTED


def _evidence(side: Side, wasted: float) -> list[Evidence]:
    found = [
        Evidence(
            metric=f"global {side.name} sectors per request",
            value=round(side.per_request, 2),
            threshold=round(EXCESS * side.ideal, 2),
        ),
        Evidence(
            metric="share of all global sectors that would be saved",
            value=round(wasted, 3),
            threshold=WASTED,
        ),
    ]
    if side.used is not None:
        limit = round(m.SECTOR_BYTES / EXCESS, 1)
        found.append(Evidence(metric=side.metric, value=side.used, threshold=limit, unit=" B"))
    return found


TOOL = Tool(name="coalescing", level="kernel", affinity=RUNNING, order=30, judge=judge)
