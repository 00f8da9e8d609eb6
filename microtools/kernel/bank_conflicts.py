"""Lanes of a warp queue for the same bank of shared memory."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength, where

THRESHOLD = 0.20
"""Layouts without conflicts still show some: accesses of other warps are counted in."""
COST = 0.03
"""Least share of shared memory's cycles, or of a warp's time, that the conflicts must take."""
_SIDES = (
    ("load", m.BANK_CONFLICTS_LOAD, m.SHARED_WAVEFRONTS_LOAD),
    ("store", m.BANK_CONFLICTS_STORE, m.SHARED_WAVEFRONTS_STORE),
)


def judge(context: KernelContext) -> Finding | None:
    """Silent if DRAM is the limit, or shared memory too little used for conflicts to cost.

    Weaker the busier DRAM is.
    """
    counted = {
        kind: (counts[0], counts[1])
        for kind, conflicts, wavefronts in _SIDES
        if (counts := context.values(conflicts, wavefronts)) is not None and counts[1] > 0
    }
    total = sum(wavefronts for _, wavefronts in counted.values())
    if total <= 0:
        return None
    share = min(1.0, sum(conflicts for conflicts, _ in counted.values()) / total)
    cost = _cost(context, share)
    if share < THRESHOLD or context.dram_saturated or (cost is not None and cost < COST):
        return None
    kind = max(counted, key=lambda name: counted[name][0])
    lines = context.lines(f"shared_{kind}s")
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=(0.2 + 0.8 * context.dram_headroom) * strength(share, THRESHOLD, 0.6),
        evidence=(
            Evidence(
                metric="share of shared-memory wavefronts that are bank conflicts",
                value=round(share, 3),
                threshold=THRESHOLD,
            ),
        ),
        advice=(
            f"{share:.0%} of the shared-memory wavefronts exist only because lanes of a warp hit "
            f"the same bank, mostly on {kind}s{where(lines)}. Pad each row of the tile by one "
            "access width (tile[N][N + 1] for 32-bit, N + 4 floats where float4 is used), or "
            "swizzle the column with an XOR of the row, which costs no memory. Columns read by a "
            "warp must fall into 32 different banks."
        ),
        methods=("memory.shared_padding",),
    )


def _cost(context: KernelContext, share: float) -> float | None:
    """What the conflicts take, of shared memory's cycles or a warp's time, whichever is more."""
    known: list[float] = []
    if (busy := context.value(m.SHARED)) is not None:
        known.append(share * busy / 100)
    if (waits := context.stall_share(m.STALL_SHORT_SCOREBOARD, m.STALL_MIO_THROTTLE)) is not None:
        known.append(share * waits)
    return max(known, default=None)


TOOL = Tool(
    name="bank_conflicts",
    level="kernel",
    affinity=RUNNING,
    order=80,
    judge=judge,
    symptom_of=frozenset({"atomic_contention"}),
)
