"""Lanes of a warp touch far more sectors than they use."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength, where
from microtools.global_accesses import GlobalAccesses, global_accesses

EXCESS = 1.2
EXTRA_SECTORS = 1.5
"""Sectors per request in vain from which it is no mere misalignment, which costs one."""
LINE_SECTORS, MOSTLY, FULL_WARPS = 4.05, 60.0, 30.0
"""Sectors of a line of L1, with some slack; % of hits in L1; lanes at work."""
WASTED = 0.10
"""Share of the kernel's global sectors below which one side's waste is not worth a word."""


def judge(context: KernelContext) -> Finding | None:
    """Silent if neither the memory is busy nor warps wait for it.

    Without the counter of used bytes, 16 sectors per request may be 128-bit accesses: the widest
    access in the code then says how many are meant.
    """
    if not context.memory_matters:
        return None
    found = [
        accesses
        for accesses in global_accesses(context)
        if _uncoalesced(accesses) and not _is_served_by_lines(context, accesses)
    ]
    if not found:
        return None
    worst = max(found, key=lambda accesses: accesses.wasted_share)
    wasted = sum(accesses.wasted_share for accesses in found)
    lines = context.lines(*(accesses.field for accesses in found))
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=strength(worst.excess, EXCESS, 3.0),
        evidence=tuple(_evidence(worst, wasted)),
        advice=(
            f"Global {' and '.join(f'{accesses.name}s' for accesses in found)} are uncoalesced"
            f"{where(lines)}: a warp's {worst.name} touches "
            f"{worst.sectors_per_request:.1f} sectors where {worst.ideal:.1f} would do, so it uses "
            f"{1 / worst.excess:.0%} of what it moves. Make threadIdx.x the fastest-varying index "
            f"of the {worst.name} address, so that neighbouring lanes touch neighbouring elements "
            "(a structure of arrays instead of an array of structures). Where the algorithm needs "
            "the other order, move a tile coalesced into shared memory and reorder it there; where "
            "indices are irregular, sort or bin them first."
        ),
        methods=("memory.coalesced_access", "memory.shared_tiling"),
    )


def _uncoalesced(accesses: GlobalAccesses) -> bool:
    return (
        accesses.excess > EXCESS
        and accesses.excess_per_request >= EXTRA_SECTORS
        and accesses.wasted_share >= WASTED
    )


def _is_served_by_lines(context: KernelContext, accesses: GlobalAccesses) -> bool:
    """Whether full warps touch no more sectors than a line has, and the kernel mostly hits in L1.

    Lanes then most likely share values, as in a convolution's window, and another order would save
    neither wavefronts nor traffic. Averages cannot tell that from broadcasts beside a scatter.
    """
    known = context.values(m.L1_HIT, m.THREADS_PER_INSTRUCTION)
    if accesses.name != "load" or known is None:
        return False
    within = accesses.sectors_per_request <= LINE_SECTORS
    return within and known[0] >= MOSTLY and known[1] >= FULL_WARPS


def _evidence(accesses: GlobalAccesses, wasted: float) -> list[Evidence]:
    found = [
        Evidence(
            metric=f"global {accesses.name} sectors per request",
            value=round(accesses.sectors_per_request, 2),
            threshold=round(EXCESS * accesses.ideal, 2),
        ),
        Evidence(
            metric="share of all global sectors that would be saved",
            value=round(wasted, 3),
            threshold=WASTED,
        ),
    ]
    if accesses.used_bytes is not None:
        limit = round(m.SECTOR_BYTES / EXCESS, 1)
        found.append(
            Evidence(metric=accesses.metric, value=accesses.used_bytes, threshold=limit, unit=" B")
        )
    return found


TOOL = Tool(name="coalescing", level="kernel", affinity=RUNNING, order=30, judge=judge)
