"""Contiguous accesses that straddle sectors because a row or a pointer is not aligned."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.accesses import IDEAL_SECTORS, Side, sides
from microtools.tool import RUNNING, Case, Tool, strength, where

LEAST_EXTRA, MOST_EXTRA = 0.7, 1.5
"""Sectors per request in vain: a contiguous request off its alignment touches one more."""
LEAST_EXCESS = 1.1
CACHED = 60.0
"""% of L1 hits from which neighbouring requests share the extra sector there, as in a stencil."""
MEMORY_BUSY = 40.0


def judge(case: Case) -> Finding | None:
    """Speaks of narrow contiguous accesses only: of 128 bits, an extra sector is a small part."""
    hits = case.value(m.L1_HIT)
    memory = case.value(m.MEMORY)
    if (hits is not None and hits >= CACHED) or (memory is not None and memory < MEMORY_BUSY):
        return None
    found = [side for side in sides(case) if _straddles(side)]
    if not found:
        return None
    worst = max(found, key=lambda side: side.wasted)
    lines = case.lines(worst.field)
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=strength(worst.extra, LEAST_EXTRA, 1.0) * min(1.0, 0.4 + worst.wasted),
        evidence=(
            Evidence(
                metric=f"global {worst.name} sectors per request",
                value=round(worst.per_request, 2),
                threshold=round(worst.ideal + LEAST_EXTRA, 2),
            ),
        ),
        advice=(
            f"A warp's contiguous {worst.name} touches {worst.per_request:.2f} sectors where "
            f"{worst.ideal:.2f} would do{where(lines)}: its first address is not a multiple of 32 "
            "bytes, which also rules out 128-bit accesses. Pad the row pitch to a multiple of 8 "
            "floats (cudaMallocPitch does), drop the odd offset from the pointer, or peel the "
            "first elements of each row so that the main loop starts aligned."
        ),
        methods=("memory.coalesced_access", "memory.vectorized_loads"),
    )


def _straddles(side: Side) -> bool:
    """One sector too many on requests that are otherwise full at the width the code uses.

    Requests that are not full, a value that all lanes share, say, cannot be told from it by their
    sectors alone.
    """
    if side.used is None and side.widest > 32:
        return False
    full = IDEAL_SECTORS * (side.widest if side.looked else 32) / 32
    contiguous = 0.75 * full <= side.ideal <= 1.1 * full
    return contiguous and LEAST_EXTRA <= side.extra < MOST_EXTRA and side.excess >= LEAST_EXCESS


TOOL = Tool(
    name="misaligned_access",
    level="kernel",
    affinity=RUNNING,
    order=120,
    judge=judge,
    symptom_of=frozenset({"coalescing"}),
)
