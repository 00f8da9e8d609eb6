"""The first-level cache doing the work that registers or a shared tile should do."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

L1_BUSY = 60.0
DRAM_IDLE = 50.0
INTENSE = 4.0


def judge(case: Case) -> Finding | None:
    """High L1 with idle DRAM on a task that reuses data: the same values are loaded repeatedly."""
    known = case.values(m.L1, m.DRAM)
    if known is None or known[0] < L1_BUSY or known[1] > DRAM_IDLE:
        return None
    if case.intensity is not None and case.intensity < INTENSE:
        return None
    l1, dram = known
    evidence = [
        Evidence(metric=m.L1, value=l1, threshold=L1_BUSY, unit="%"),
        Evidence(metric=m.DRAM, value=dram, threshold=DRAM_IDLE, unit="%"),
    ]
    sectors = case.value(m.L2_SECTORS)
    amplified = ""
    if sectors is not None and case.least_bytes:
        ratio = sectors * m.SECTOR_BYTES / case.least_bytes
        amplified = f" L2 serves {ratio:.0f} times the task's bytes."
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(l1, L1_BUSY, 95.0),
        evidence=tuple(evidence),
        advice=(
            f"The load/store path is {l1:.0f} % busy while device memory is {dram:.0f} % busy: "
            f"the same values are loaded again and again.{amplified} Raise the arithmetic per "
            "load: stage a tile in shared memory, and let each thread compute "
            "a block of outputs (8 x 8 for a matrix product) from values it holds in registers, so "
            "that each loaded value is used as often as the block is wide."
        ),
        methods=("compute.register_tiling", "memory.shared_tiling", "memory.vectorized_loads"),
    )


TOOL = Tool(
    name="missing_reuse",
    level="kernel",
    affinity=frozenset({"memory", "compute", "mixed"}),
    judge=judge,
)
