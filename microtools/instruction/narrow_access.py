"""Many small global accesses where few wide ones would keep more bytes in flight."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain import Evidence, Finding, SassFacts
from mcts.domain import metrics as m
from mcts.microtool.tool import DRAM_FULL, RUNNING, KernelContext, Tool, percent, strength, where

NARROW, NARROWEST = 32, 16
"""Bits of an access that counts as narrow, and where nothing was counted."""
NARROW_SHARE = 0.5
OF_32_BITS = 0.6
LSU_BUSY = 30.0
WAITING = 0.30
QUEUEING = 0.05
LEAST_REQUESTS = 0.15
"""Share of the global requests below which a side's width does not matter."""


def judge(context: KernelContext) -> Finding | None:
    """Weaker as DRAM fills, silent if it is full or if accesses are not what costs.

    If bulk copies fetch the data, loads only fetch descriptors. Without counters nothing tells
    whether an access of 32 bits costs anything, or could be wider: but for code without loops and
    shared memory, which most likely walks along its arrays, only narrower ones count.
    """
    if context.sass is None or context.dram_saturated or not _accesses_cost(context):
        return None
    narrow = NARROW if context.kernel.metrics or _is_elementwise(context.sass) else NARROWEST
    widths_by_kind = {"load": context.sass.global_loads, "store": context.sass.global_stores}
    if context.sass.bulk_copies:
        del widths_by_kind["load"]
    shares = {
        kind: sum(count for bits, count in widths.items() if int(bits) <= narrow) / total
        for kind, widths in widths_by_kind.items()
        if (total := sum(widths.values())) and _requests_share(context, kind) >= LEAST_REQUESTS
    }
    if not shares:
        return None
    kind = max(shares, key=lambda name: shares[name])
    if shares[kind] < NARROW_SHARE:
        return None
    dram = context.value(m.DRAM)
    widths = [bits for bits in ("8", "16", "32") if int(bits) <= narrow]
    lines = context.lines(*(f"global_{kind}s.{bits}" for bits in widths))
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=_weight(context, widths_by_kind[kind]) * strength(shares[kind], NARROW_SHARE, 1.0),
        evidence=(
            Evidence(
                metric=f"share of global {kind} instructions of {narrow} bits or less",
                value=round(shares[kind], 3),
                threshold=NARROW_SHARE,
            ),
            *((percent(m.DRAM, dram, DRAM_FULL),) if dram is not None else ()),
        ),
        advice=(
            f"{shares[kind]:.0%} of the global {kind} instructions move {narrow} bits per lane or "
            f"less{where(lines)}. Let each thread handle 4 consecutive floats through one float4 "
            "access (LDG.128 / STG.128), or 8 halves through a uint4: a quarter of the "
            "instructions and address arithmetic, and four times the bytes in flight per request. "
            "The address must be 16-byte aligned and the row length a multiple of the width; "
            "handle the rest in a scalar tail."
        ),
        methods=("memory.vectorized_loads",),
    )


def _is_elementwise(sass: SassFacts) -> bool:
    """Whether the code looks as if each thread did a little to elements of its own."""
    return not (sass.loops or sass.shared_loads or sass.shared_stores or sass.atomic_ops)


def _requests_share(context: KernelContext, kind: str) -> float:
    """The share of these accesses in the global requests; 1 if they were not counted."""
    counts = context.values(m.LOAD_REQUESTS, m.STORE_REQUESTS)
    if counts is None or sum(counts) <= 0:
        return 1.0
    return counts[0 if kind == "load" else 1] / sum(counts)


def _accesses_cost(context: KernelContext) -> bool:
    """Whether warps wait for loads, or the load unit is in demand.

    True if that was not measured. Under a compute-bound kernel only the load unit counts.
    """
    known = _demand(context)
    return not known or any(value >= threshold for value, threshold in known)


def _weight(context: KernelContext, widths: Mapping[str, int]) -> float:
    """Less the busier DRAM is, and if it was not measured whether the accesses cost anything.

    Accesses of 32 bits use whole sectors, and wider ones gain less than they do of bytes.
    """
    if not _demand(context):
        return 0.5
    weight = 0.4 + 0.6 * context.dram_headroom
    return weight if _narrowest_share(widths) >= NARROW_SHARE else OF_32_BITS * weight


def _narrowest_share(widths: Mapping[str, int]) -> float:
    """The share of accesses of 16 bits or less, of counts by width; 0 of none."""
    total = sum(widths.values())
    return sum(count for bits, count in widths.items() if int(bits) <= NARROWEST) / (total or 1)


def _load_unit(context: KernelContext) -> float | None:
    """% of peak of the load/store unit that goes to global accesses, as far as that was counted."""
    busy = context.value(m.LSU_PIPE)
    requests = sum(context.known(m.LOAD_REQUESTS, m.STORE_REQUESTS).values())
    shared = sum(context.known(m.SHARED_WAVEFRONTS_LOAD, m.SHARED_WAVEFRONTS_STORE).values())
    conflicts = sum(context.known(m.BANK_CONFLICTS_LOAD, m.BANK_CONFLICTS_STORE).values())
    if busy is None or requests <= 0:
        return busy
    return busy * requests / (requests + max(0.0, shared - conflicts))


def _demand(context: KernelContext) -> list[tuple[float, float]]:
    """What was measured of the demand for loads, each with its threshold."""
    seen = [
        (_load_unit(context), LSU_BUSY),
        (context.stall_share(m.STALL_LG_THROTTLE), QUEUEING),
    ]
    if context.bound != "compute":
        seen.append((context.stall_share(m.STALL_LONG_SCOREBOARD), WAITING))
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
