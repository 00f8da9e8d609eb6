"""Lanes that queue for the same bank of shared memory."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import ANY, Case, Tool, strength

THRESHOLD = 0.20
"""Layouts without conflicts still show some: accesses of other warps are counted in."""
_SIDES = (
    ("load", m.BANK_CONFLICTS_LOAD, m.SHARED_WAVEFRONTS_LOAD),
    ("store", m.BANK_CONFLICTS_STORE, m.SHARED_WAVEFRONTS_STORE),
)


def judge(case: Case) -> Finding | None:
    shares: dict[str, float] = {}
    total = 0.0
    conflicts = 0.0
    for side, conflict, wavefronts in _SIDES:
        counts = case.values(conflict, wavefronts)
        if counts is not None and counts[1] > 0:
            shares[side] = counts[0] / counts[1]
            conflicts += counts[0]
            total += counts[1]
    if total <= 0 or conflicts / total < THRESHOLD:
        return None
    share = min(1.0, conflicts / total)
    side = max(shares, key=lambda name: shares[name])
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=(0.4 if case.saturated else 1.0) * strength(share, THRESHOLD, 0.6),
        evidence=(
            Evidence(
                metric="share of shared-memory wavefronts that are bank conflicts",
                value=round(share, 3),
                threshold=THRESHOLD,
            ),
        ),
        advice=(
            f"{share:.0%} of the shared-memory wavefronts exist only because lanes of a warp hit "
            f"the same bank, mostly on {side}s. Pad each row of the tile by one access width "
            "(tile[N][N + 1] for 32-bit, N + 4 floats where float4 is used), or swizzle the column "
            "with an XOR of the row, which costs no memory. Columns read by a warp must fall into "
            "32 different banks."
        ),
        methods=("memory.shared_padding",),
    )


TOOL = Tool(name="bank_conflicts", level="kernel", affinity=ANY, judge=judge)
