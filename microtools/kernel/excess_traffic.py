"""Device memory moves clearly more bytes than the task needs."""

from __future__ import annotations

from mcts.domain import BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, strength

EXCESS = 1.3
DRAM_IDLE = 30.0
_AFFINITY: frozenset[BoundClass] = frozenset({"memory", "mixed", "latency"})


def judge(context: KernelContext) -> Finding | None:
    """Silent if DRAM is idle anyway: what it moves is then not what takes the time.

    Silent too for a call of several kernels, whose intermediates are `unfused_kernels`' matter.
    """
    moved = context.values(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES)
    if moved is None or context.least_bytes is None or not context.only_kernel:
        return None
    ratio = sum(moved) / context.least_bytes
    dram = context.value(m.DRAM)
    if ratio < EXCESS or (dram is not None and dram < DRAM_IDLE):
        return None
    hits = context.values(m.L1_HIT, m.L2_HIT)
    cached = f" (L1 and L2 hit {hits[0]:.0f} % and {hits[1]:.0f} %)" if hits else ""
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(ratio, EXCESS, 2.0),
        evidence=(
            Evidence(
                metric="DRAM bytes over the task's least bytes",
                value=round(ratio, 3),
                threshold=EXCESS,
            ),
        ),
        advice=(
            f"Device memory moves {ratio:.2f} times the bytes the task needs{cached}. Read each "
            "element once: keep it in registers or a shared tile between passes, merge passes "
            "(an online algorithm), and order the blocks so that neighbours share what L2 holds."
        ),
        methods=("memory.register_reuse", "memory.fused_passes", "memory.shared_tiling"),
    )


TOOL = Tool(
    name="excess_traffic",
    level="kernel",
    affinity=_AFFINITY,
    order=110,
    judge=judge,
    symptom_of=frozenset({"cache_thrash", "coalescing", "misaligned_access", "register_spills"}),
)
