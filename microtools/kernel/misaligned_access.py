"""Contiguous accesses that straddle sectors because a row or a pointer is not aligned."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength, where
from microtools.global_accesses import IDEAL_SECTORS, GlobalAccesses, global_accesses

LEAST_EXTRA, MOST_EXTRA = 0.7, 1.5
"""Sectors per request in vain: a contiguous request off its alignment touches one more."""
LEAST_EXCESS = 1.1
CACHED = 60.0
"""% of L1 hits from which neighbouring requests share the extra sector there, as in a stencil."""
MEMORY_BUSY = 40.0


def judge(context: KernelContext) -> Finding | None:
    """Speaks of narrow contiguous accesses only: of 128 bits, an extra sector is a small part."""
    hits = context.value(m.L1_HIT)
    memory = context.value(m.MEMORY)
    if (hits is not None and hits >= CACHED) or (memory is not None and memory < MEMORY_BUSY):
        return None
    found = [accesses for accesses in global_accesses(context) if _straddles(accesses)]
    if not found:
        return None
    worst = max(found, key=lambda accesses: accesses.wasted_share)
    lines = context.lines(worst.field)
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=strength(worst.excess_per_request, LEAST_EXTRA, 1.0)
        * min(1.0, 0.4 + worst.wasted_share),
        evidence=(
            Evidence(
                metric=f"global {worst.name} sectors per request",
                value=round(worst.sectors_per_request, 2),
                threshold=round(worst.ideal + LEAST_EXTRA, 2),
            ),
        ),
        advice=(
            f"A warp's contiguous {worst.name} touches {worst.sectors_per_request:.2f} sectors "
            f"where {worst.ideal:.2f} would do{where(lines)}: its first address is not a multiple "
            "of 32 bytes, which also rules out 128-bit accesses. Pad the row pitch to a multiple "
            "of 8 floats (cudaMallocPitch does), drop the odd offset from the pointer, or peel the "
            "first elements of each row so that the main loop starts aligned."
        ),
        methods=("memory.coalesced_access", "memory.vectorized_loads"),
    )


def _straddles(accesses: GlobalAccesses) -> bool:
    """One sector too many on requests that are otherwise full at the width the code uses.

    Requests that are not full, a value that all lanes share, say, cannot be told from it by their
    sectors alone.
    """
    if accesses.used_bytes is None and accesses.widest > 32:
        return False
    full = IDEAL_SECTORS * (accesses.widest if accesses.from_code else 32) / 32
    contiguous = 0.75 * full <= accesses.ideal <= 1.1 * full
    return (
        contiguous
        and LEAST_EXTRA <= accesses.excess_per_request < MOST_EXTRA
        and accesses.excess >= LEAST_EXCESS
    )


TOOL = Tool(
    name="misaligned_access",
    level="kernel",
    affinity=RUNNING,
    order=120,
    judge=judge,
    symptom_of=frozenset({"coalescing"}),
)
