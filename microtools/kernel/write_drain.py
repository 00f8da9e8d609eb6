"""Warps wait at fences, or at their end for stores to leave."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, KernelContext
from microtools.stalls import Remedy, Stall


def _fenced(context: KernelContext) -> bool:
    fences = context.stall_share(m.STALL_MEMBAR) or 0.0
    return fences > (context.stall_share(m.STALL_DRAIN) or 0.0)


def _remedy(context: KernelContext) -> Remedy:
    lines = context.lines("global_stores")
    if _fenced(context):
        return Remedy(
            "waiting for memory fences. Drop fences that order nothing, use the narrowest scope "
            "that is needed (__threadfence_block inside a block), and fence once after many stores "
            "rather than after each",
            ("latency.fewer_barriers", "latency.work_per_thread"),
            lines,
        )
    return Remedy(
        "waiting for its stores to leave. Make them coalesced and 128 bits wide, mark results that "
        "are not read again as streaming (__stcs), and let a thread go on to other elements after "
        "it has stored, instead of ending",
        ("memory.coalesced_access", "memory.vectorized_loads", "latency.work_per_thread"),
        lines,
    )


def _weight(context: KernelContext) -> float:
    """None for stores that only queue for a busy memory; fences are a fault anyway."""
    if _fenced(context):
        return 1.0
    return 0.0 if max(context.known(m.DRAM, m.L2).values(), default=0.0) >= BUSY else 1.0


TOOL = Stall(
    tool="write_drain",
    reasons=(m.STALL_DRAIN, m.STALL_MEMBAR),
    axis="memory",
    threshold=0.20,
    remedy=_remedy,
    weight=_weight,
).as_tool(order=240, symptom_of=frozenset({"atomic_contention", "coalescing", "register_spills"}))
