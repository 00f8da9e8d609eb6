"""Several kernels hand intermediates to each other through device memory."""

from __future__ import annotations

from mcts.domain import Evidence, Finding, KernelProfile
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, BUSY, KernelContext, Tool, strength

EXCESS = 1.4
HANDED_ON = 0.20
"""Share of all traffic that can be what one kernel writes and a later one reads."""
DRAM_IDLE = 25.0
MOST_GAIN = 3.0


def judge(context: KernelContext) -> Finding | None:
    """Needs the least bytes of a call: two kernels side by side may have nothing to hand on.

    Silent if DRAM is nearly idle: what it moves is then not what takes the time.
    """
    kernels = context.profile.kernels
    moved = [kernel.dram_bytes for kernel in kernels]
    known = [pair for pair in moved if pair is not None]
    if len(kernels) < 2 or len(known) != len(kernels) or context.least_bytes is None:
        return None
    total = sum(read + written for read, written in known)
    ratio = total / context.least_bytes
    if ratio < EXCESS:
        return None
    if _dram(kernels) < DRAM_IDLE:
        return None
    handed = 2 * min(sum(pair[1] for pair in known[:-1]), sum(pair[0] for pair in known[1:]))
    if handed < HANDED_ON * total:
        return None
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(ratio, EXCESS, 3.0),
        evidence=(
            Evidence(
                metric="DRAM bytes of all kernels over the least bytes of a call",
                value=round(ratio, 3),
                threshold=EXCESS,
            ),
            Evidence(
                metric="share of the traffic that kernels may hand on",
                value=round(handed / total, 3),
                threshold=HANDED_ON,
            ),
        ),
        advice=(
            f"{_names(kernels)} hand intermediates on through device memory: together they move "
            f"{ratio:.2f} times the bytes a call needs. Merge neighbours so that the intermediate "
            "stays in registers or shared memory: apply elementwise steps where the value is "
            "produced, reduce while producing, and compute cheap intermediates again instead of "
            "storing them. Where a step needs all of the one before, work in chunks that fit L2."
        ),
        methods=("memory.fused_passes", "latency.fewer_launches", "memory.register_reuse"),
        expected_gain=_gain(context, ratio),
    )


def _dram(kernels: tuple[KernelProfile, ...]) -> float:
    """% of peak that DRAM was busy on average over the kernels' time; 100 if not measured."""
    known = [
        (busy, kernel.total_us or 0.0)
        for kernel in kernels
        if (busy := kernel.value(m.DRAM)) is not None
    ]
    time = sum(us for _, us in known)
    return sum(busy * us for busy, us in known) / time if time > 0 else 100.0


def _names(kernels: tuple[KernelProfile, ...]) -> str:
    names = list(dict.fromkeys(kernel.name for kernel in kernels))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _gain(context: KernelContext, ratio: float) -> float | None:
    """The time follows the traffic if the longest kernel keeps DRAM busy."""
    if (context.value(m.DRAM) or 0.0) < BUSY:
        return None
    return round(min(MOST_GAIN, ratio), 2)


TOOL = Tool(
    name="unfused_kernels",
    level="system",
    affinity=ANY,
    order=440,
    judge=judge,
    symptom_of=frozenset({"coalescing", "register_spills"}),
)
