"""Lanes of a warp that do not touch neighbouring addresses."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import ANY, Case, Tool, strength

IDEAL_SECTORS = 4.0
"""Sectors of 32 bytes in a fully used request of 32 lanes with 32 bits each."""
EXCESS = 1.2
WASTED = 0.10
"""Share of the kernel's global sectors below which one side's waste is not worth a word."""
_SIDES = (
    ("load", m.LOAD_SECTORS, m.LOAD_REQUESTS, "global_loads"),
    ("store", m.STORE_SECTORS, m.STORE_REQUESTS, "global_stores"),
)


def judge(case: Case) -> Finding | None:
    worst: tuple[float, str, float, float, float] | None = None
    total = sum(case.value(sectors) or 0.0 for _, sectors, _, _ in _SIDES)
    for side, sectors, requests, widths in _SIDES:
        counts = case.values(sectors, requests)
        if counts is None or min(counts) <= 0:
            continue
        per_request = counts[0] / counts[1]
        ideal = IDEAL_SECTORS * _widest(case, widths) / 32
        excess = per_request / ideal
        wasted = (counts[0] - counts[1] * ideal) / total
        if excess > EXCESS and wasted >= WASTED and (worst is None or wasted > worst[-1]):
            worst = (excess, side, per_request, ideal, wasted)
    if worst is None:
        return None
    excess, side, per_request, ideal, wasted = worst
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(excess, EXCESS, 4.0),
        evidence=(
            Evidence(
                metric=f"global {side} sectors per request",
                value=round(per_request, 2),
                threshold=round(EXCESS * ideal, 2),
            ),
            Evidence(
                metric="share of all global sectors that would be saved",
                value=round(wasted, 3),
                threshold=WASTED,
            ),
        ),
        advice=(
            f"Global {side}s are uncoalesced: a warp's {side} touches {per_request:.1f} sectors "
            f"where {ideal:.0f} would do: it uses {ideal / per_request:.0%} of what it moves. "
            f"Make threadIdx.x the fastest-varying index of the {side} address, so that "
            "neighbouring lanes touch neighbouring elements. Where the algorithm needs the other "
            "order, move a tile coalesced into shared memory and reorder it there."
        ),
        methods=("memory.coalesced_access", "memory.shared_tiling"),
    )


def _widest(case: Case, widths: str) -> int:
    """Bits of the widest access in the code; where nobody looked, the widest there is."""
    if case.sass is None:
        return 128
    found = [int(bits) for bits, count in getattr(case.sass, widths).items() if count]
    return max(32, *found) if found else 128


TOOL = Tool(name="coalescing", level="kernel", affinity=ANY, judge=judge)
