"""How much goes through device memory, against how much has to."""

from __future__ import annotations

from mcts.domain import BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import DRAM_FULL, Case, Tool, strength

EXCESS = 1.3
DRAM_IDLE = 30.0
_AFFINITY: frozenset[BoundClass] = frozenset({"memory", "mixed", "latency"})


def excess_traffic(case: Case) -> Finding | None:
    """DRAM moves clearly more than the task's least bytes: data is fetched again.

    Silent where DRAM is idle anyway: what it moves is then not what takes the time.
    """
    moved = case.values(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES)
    if moved is None or not case.least_bytes or len(case.profile.kernels) != 1:
        return None
    ratio = sum(moved) / case.least_bytes
    dram = case.value(m.DRAM)
    if ratio < EXCESS or (dram is not None and dram < DRAM_IDLE):
        return None
    hits = [v for key in (m.L1_HIT, m.L2_HIT) if (v := case.value(key)) is not None]
    cached = f" (L1 and L2 hit {hits[0]:.0f} % and {hits[1]:.0f} %)" if len(hits) == 2 else ""
    gain = round(min(ratio, 10.0), 2) if case.saturated else None
    return Finding(
        tool=EXCESS_TRAFFIC.name,
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
        methods=("memory.register_reuse", "memory.shared_tiling", "memory.block_swizzle"),
        expected_gain=gain,
    )


def saturated(case: Case) -> Finding | None:
    """DRAM is as busy as it gets: only doing less helps."""
    dram = case.value(m.DRAM)
    if dram is None or dram < DRAM_FULL:
        return None
    return Finding(
        tool=DRAM_SATURATED.name,
        axis="memory",
        strength=0.5 * strength(dram, DRAM_FULL, 95.0),
        evidence=(Evidence(metric=m.DRAM, value=dram, threshold=DRAM_FULL, unit="%"),),
        advice=(
            f"Device memory is {dram:.0f} % busy: more parallelism cannot help any more. What is "
            "left is to move less (fuse neighbouring passes, narrower types where the tolerance "
            "allows) and to keep streams that are read once out of the way of reused data with "
            "evict-first loads and stores (__ldcs, __stcs)."
        ),
        methods=("memory.cache_hints", "memory.register_reuse"),
    )


EXCESS_TRAFFIC = Tool(
    name="excess_traffic", level="kernel", affinity=_AFFINITY, judge=excess_traffic
)
DRAM_SATURATED = Tool(name="dram_saturated", level="kernel", affinity=_AFFINITY, judge=saturated)
