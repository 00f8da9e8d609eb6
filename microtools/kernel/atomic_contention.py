"""Atomics on few addresses queue for each other."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, RUNNING, KernelContext, Tool, percent, strength, where

GLOBAL_SHARE = 0.01
"""Warp atomics per instruction from which they are no mere final step of a block."""
SHARED_SHARE = 0.02
WAITING = 0.30
SHARED_WAITING = 0.45
UNIT_BUSY = 30.0


def judge(context: KernelContext) -> Finding | None:
    """Global atomics first: they are the slower ones. Silent if DRAM is the limit."""
    if context.dram_saturated:
        return None
    return _global(context) or _shared(context)


def _global(context: KernelContext) -> Finding | None:
    share = _per_instruction(context, m.ATOMIC_REQUESTS, m.REDUCTION_REQUESTS)
    if share is None or share < GLOBAL_SHARE or (context.value(m.DRAM) or 0.0) >= BUSY:
        return None
    unit = context.value(m.L2_ATOMIC_UNIT)
    waits = context.stall_share(
        m.STALL_LONG_SCOREBOARD, m.STALL_LG_THROTTLE, m.STALL_DRAIN, m.STALL_MEMBAR
    )
    scored: list[tuple[float, Evidence]] = []
    if unit is not None and unit >= UNIT_BUSY:
        scored.append((strength(unit, UNIT_BUSY, 80.0), percent(m.L2_ATOMIC_UNIT, unit, UNIT_BUSY)))
    if waits is not None and waits >= WAITING:
        scored.append((strength(waits, WAITING, 0.7), _waiting("global memory", waits, WAITING)))
    if not scored:
        return None
    return _finding(
        context,
        strength=max(value for value, _ in scored),
        evidence=(
            _frequency("global", share, GLOBAL_SHARE),
            *(evidence for _, evidence in scored),
        ),
        what=f"{share:.0%} of the instructions are global atomics",
        cure=(
            "Sum privately first: in registers over the elements of a thread, over the lanes by "
            "shuffles (__reduce_add_sync, or one lane per group of equal targets found with "
            "__match_any_sync), over the block in shared memory; then issue one atomic per block "
            "and target"
        ),
    )


def _shared(context: KernelContext) -> Finding | None:
    share = _per_instruction(context, m.SHARED_ATOMICS)
    if share is None or share < SHARED_SHARE or (context.value(m.DRAM) or 0.0) >= BUSY:
        return None
    waits = context.stall_share(m.STALL_SHORT_SCOREBOARD, m.STALL_MIO_THROTTLE)
    if waits is None or waits < SHARED_WAITING:
        return None
    return _finding(
        context,
        strength=0.8 * strength(waits, SHARED_WAITING, 0.8),
        evidence=(
            _frequency("shared", share, SHARED_SHARE),
            _waiting("shared memory", waits, SHARED_WAITING),
        ),
        what=f"{share:.0%} of the instructions are shared-memory atomics",
        cure=(
            "Give each warp, or several groups of lanes, its own copy of the counters and add the "
            "copies at the end; combine equal targets within a thread or warp first; pad the "
            "copies so that they fall into different banks"
        ),
    )


def _finding(
    context: KernelContext, *, strength: float, evidence: tuple[Evidence, ...], what: str, cure: str
) -> Finding:
    lines = context.lines("atomic_ops")
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=strength,
        evidence=evidence,
        advice=f"{what}{where(lines)}, and warps wait for them: those that meet on an address are "
        f"served one after the other. {cure}.",
        methods=("compute.warp_primitives", "memory.shared_tiling", "memory.register_reuse"),
    )


def _per_instruction(context: KernelContext, *metrics: str) -> float | None:
    counts, instructions = context.known(*metrics), context.value(m.INSTRUCTIONS)
    if not counts or not instructions:
        return None
    return sum(counts.values()) / instructions


def _frequency(kind: str, share: float, threshold: float) -> Evidence:
    return Evidence(
        metric=f"{kind} atomics as a share of the instructions",
        value=round(share, 4),
        threshold=threshold,
    )


def _waiting(place: str, share: float, threshold: float) -> Evidence:
    return Evidence(
        metric=f"share of warp latency on {place}", value=round(share, 3), threshold=threshold
    )


TOOL = Tool(name="atomic_contention", level="kernel", affinity=RUNNING, order=60, judge=judge)
