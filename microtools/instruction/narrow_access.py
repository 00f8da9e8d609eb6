"""Many small global accesses where few wide ones would keep more bytes in flight."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import DRAM_FULL, RUNNING, Case, Tool, percent, strength, where

NARROW_SHARE = 0.5
LSU_BUSY = 30.0
WAITING = 0.30
QUEUEING = 0.05
LEAST_REQUESTS = 0.15
"""Share of the global requests below which a side's width does not matter."""


def judge(case: Case) -> Finding | None:
    """Weaker as DRAM fills, silent where it is full or where accesses are not what costs.

    Where bulk copies fetch the data, loads fetch what says where it lies.
    """
    if case.sass is None or case.saturated or not _accesses_cost(case):
        return None
    accesses = {"load": case.sass.global_loads, "store": case.sass.global_stores}
    if case.sass.bulk_copies:
        del accesses["load"]
    shares = {
        side: sum(count for bits, count in widths.items() if int(bits) <= 32) / total
        for side, widths in accesses.items()
        if (total := sum(widths.values())) and _requests_share(case, side) >= LEAST_REQUESTS
    }
    if not shares:
        return None
    side = max(shares, key=lambda name: shares[name])
    if shares[side] < NARROW_SHARE:
        return None
    dram = case.value(m.DRAM)
    lines = case.lines(*(f"global_{side}s.{bits}" for bits in ("8", "16", "32")))
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=_weight(case) * strength(shares[side], NARROW_SHARE, 1.0),
        evidence=(
            Evidence(
                metric=f"share of global {side} instructions of 32 bits or less",
                value=round(shares[side], 3),
                threshold=NARROW_SHARE,
            ),
            *((percent(m.DRAM, dram, DRAM_FULL),) if dram is not None else ()),
        ),
        advice=(
            f"{shares[side]:.0%} of the global {side} instructions move 32 bits per lane or less"
            f"{where(lines)}. Let each thread handle 4 consecutive floats through one float4 "
            "access (LDG.128 / STG.128), or 8 halves through a uint4: a quarter of the "
            "instructions and address arithmetic, and four times the bytes in flight per request. "
            "The address must be 16-byte aligned and the row length a multiple of the width; "
            "handle the rest in a scalar tail."
        ),
        methods=("memory.vectorized_loads",),
    )


def _requests_share(case: Case, side: str) -> float:
    """The side's share of the global requests; 1 where nobody counted them."""
    counts = case.values(m.LOAD_REQUESTS, m.STORE_REQUESTS)
    if counts is None or sum(counts) <= 0:
        return 1.0
    return counts[0 if side == "load" else 1] / sum(counts)


def _accesses_cost(case: Case) -> bool:
    """Whether warps wait for loads, or the load unit is in demand.

    True where nobody measured that. Under a compute-bound kernel only the load unit counts.
    """
    known = _demand(case)
    return not known or any(value >= threshold for value, threshold in known)


def _weight(case: Case) -> float:
    """Less the busier DRAM is, and where nobody measured whether the accesses cost anything."""
    return 0.3 + 0.6 * case.room if _demand(case) else 0.5


def _demand(case: Case) -> list[tuple[float, float]]:
    """What was measured of the demand for loads, each with its threshold."""
    seen = [
        (case.value(m.LSU_PIPE), LSU_BUSY),
        (case.stall_share(m.STALL_LG_THROTTLE), QUEUEING),
    ]
    if case.bound != "compute":
        seen.append((case.stall_share(m.STALL_LONG_SCOREBOARD), WAITING))
    return [(value, threshold) for value, threshold in seen if value is not None]


TOOL = Tool(
    name="narrow_access",
    level="instruction",
    affinity=RUNNING,
    order=130,
    judge=judge,
    symptom_of=frozenset(
        {
            "atomic_contention",
            "bank_conflicts",
            "coalescing",
            "misaligned_access",
            "missing_reuse",
            "small_grid",
        }
    ),
)
