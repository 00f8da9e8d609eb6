"""Reused data falls out of the caches before it is used again: the working set does not fit."""

from __future__ import annotations

from mcts.domain import BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, KernelContext, Tool, percent, strength

REUSE = 3.0
"""Times its least bytes that a kernel asks the caches for, from which they have a job to do."""
REFETCHED = 1.5
DRAM_BUSY = 40.0
L2_MISSING = 70.0
L1_MISSING = 40.0
L2_SERVING = 70.0
_AFFINITY: frozenset[BoundClass] = frozenset({"memory", "mixed", "latency"})


def judge(context: KernelContext) -> Finding | None:
    """Out of L2: DRAM delivers again what the kernel asks for again, though hits are rare.

    Else out of L1: asked for many times, rarely found there, and L2 is the busy level.
    """
    asked = context.values(m.LOAD_SECTORS, m.STORE_SECTORS)
    if asked is None or context.least_bytes is None or not context.only_kernel:
        return None
    reuse = sum(asked) * m.SECTOR_BYTES / context.least_bytes
    if reuse < REUSE:
        return None
    return _out_of_l2(context, reuse) or _out_of_l1(context, reuse)


def _out_of_l2(context: KernelContext, reuse: float) -> Finding | None:
    moved = context.values(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.DRAM, m.L2_HIT)
    if moved is None or context.least_bytes is None:
        return None
    read, written, dram, hit = moved
    fetched = (read + written) / context.least_bytes
    if fetched < REFETCHED or dram < DRAM_BUSY or hit >= L2_MISSING:
        return None
    size = context.hardware.l2_bytes if context.hardware else None
    holds = f" of {size / 2**20:.0f} MiB" if size else ""
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(min(reuse, 4 * fetched), REUSE, 10.0),
        evidence=(
            _asked(reuse),
            Evidence(
                metric="DRAM bytes over the task's least bytes",
                value=round(fetched, 2),
                threshold=REFETCHED,
            ),
            percent(m.L2_HIT, hit, L2_MISSING),
        ),
        advice=(
            f"The kernel asks for its data {reuse:.1f} times and L2{holds} finds only {hit:.0f} % "
            f"of it: DRAM delivers it {fetched:.1f} times. Shrink what is in use at one time: let "
            "the blocks that run together share inputs (number them in narrow bands of tiles), "
            "split the data into chunks that fit L2 and finish each before the next, and mark what "
            "is used once as evict-first."
        ),
        methods=("memory.block_swizzle", "memory.shared_tiling", "memory.cache_hints"),
    )


def _out_of_l1(context: KernelContext, reuse: float) -> Finding | None:
    known = context.values(m.L1_HIT, m.L2, m.L2_HIT, m.DRAM)
    if known is None or (context.sass is not None and context.sass.shared_loads):
        return None
    l1_hit, l2, l2_hit, dram = known
    if l1_hit >= L1_MISSING or l2 < BUSY or l2_hit < L2_SERVING or dram >= l2:
        return None
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=0.8 * strength(l1_hit, L1_MISSING, 5.0),
        evidence=(_asked(reuse), percent(m.L1_HIT, l1_hit, L1_MISSING), percent(m.L2, l2, BUSY)),
        advice=(
            f"The kernel asks for its data {reuse:.1f} times, L1 finds only {l1_hit:.0f} % of it "
            f"and L2 is {l2:.0f} % busy delivering the rest. Let a block work on a smaller piece "
            "at a time so that it stays in L1, or hold the piece in shared memory, where nothing "
            "evicts it."
        ),
        methods=("memory.shared_tiling", "memory.block_swizzle"),
    )


def _asked(reuse: float) -> Evidence:
    return Evidence(
        metric="bytes asked of the caches over the task's least bytes",
        value=round(reuse, 2),
        threshold=REUSE,
    )


TOOL = Tool(
    name="cache_thrash",
    level="kernel",
    affinity=_AFFINITY,
    order=100,
    judge=judge,
    symptom_of=frozenset({"coalescing", "register_spills"}),
)
