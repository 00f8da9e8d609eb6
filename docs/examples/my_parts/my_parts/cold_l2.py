"""A micro-tool: device memory is full with data that L2 should have kept."""

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, percent, strength


def judge(context: KernelContext) -> Finding | None:
    counted = context.values(m.L2_HIT, m.DRAM_READ_BYTES)
    if counted is None or context.least_bytes is None or not context.dram_saturated:
        return None
    hit, times = counted[0], counted[1] / context.least_bytes
    if hit >= 50 or times < 1.5:
        return None
    return Finding(
        tool="cold_l2",
        axis="memory",
        lines=context.lines("global_loads"),
        strength=strength(times, 1.5, 4),
        evidence=(
            Evidence(metric="DRAM reads over the least bytes", value=times, threshold=1.5),
            percent(m.L2_HIT, hit, 50),
        ),
        advice=f"A full DRAM reads {times:.1f} times what the task needs, as L2 finds {hit:.0f} % "
        "of it. Merge sweeps over the same data, or let blocks that run together share tiles.",
        methods=("memory.fused_passes", "memory.block_swizzle"),
    )


TOOL = Tool(
    name="cold_l2",
    level="kernel",
    affinity=frozenset({"memory"}),
    judge=judge,
    symptom_of=frozenset({"coalescing", "cache_thrash"}),
)
