"""The first-level cache doing the work that registers or a shared tile should do."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import REUSING, Case, Tool, strength

L1_BUSY = 50.0
DRAM_IDLE = 50.0


def judge(case: Case) -> Finding | None:
    """High L1 with idle DRAM on a task that reuses data: the same values are loaded repeatedly."""
    known = case.values(m.L1, m.DRAM)
    if known is None or known[0] < L1_BUSY or known[1] > DRAM_IDLE:
        return None
    if case.intensity is not None and case.intensity < REUSING:
        return None
    l1, dram = known
    if (case.value(m.SM) or 0.0) > l1:  # computing is what takes the time
        return None
    evidence = [
        Evidence(metric=m.L1, value=l1, threshold=L1_BUSY, unit="%"),
        Evidence(metric=m.DRAM, value=dram, threshold=DRAM_IDLE, unit="%"),
    ]
    sectors = case.value(m.L2_SECTORS)
    amplified = ""
    if sectors is not None and case.least_bytes:
        ratio = sectors * m.SECTOR_BYTES / case.least_bytes
        amplified = f" L2 serves {ratio:.0f} times the task's bytes."
    tiled = case.sass is not None and sum(case.sass.shared_loads.values()) > 0
    untiled = case.sass is not None and not tiled
    stage = "" if tiled else "stage a tile in shared memory, and "
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=1.0 if untiled else strength(l1, L1_BUSY, 95.0),
        evidence=tuple(evidence),
        advice=(
            f"The load/store path is {l1:.0f} % busy while device memory is {dram:.0f} % busy: "
            f"the same values are loaded again and again.{amplified} Raise the arithmetic per "
            f"load: {stage}let each thread compute a larger block of outputs (8 x 8 and more for "
            "a matrix product) from values it holds in registers, so that each loaded value is "
            "used as often as the block is wide."
        ),
        methods=(
            "compute.register_tiling",
            *(() if tiled else ("memory.shared_tiling",)),
            "memory.vectorized_loads",
        ),
    )


TOOL = Tool(
    name="missing_reuse",
    level="kernel",
    affinity=frozenset({"memory", "compute", "mixed", "latency"}),
    judge=judge,
)
