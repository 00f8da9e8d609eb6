"""Device memory is as busy as it gets: only doing less helps."""

from __future__ import annotations

from mcts.domain import Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import DRAM_FULL, KernelContext, Tool, percent, strength


def judge(context: KernelContext) -> Finding | None:
    dram = context.value(m.DRAM)
    if dram is None or not context.dram_saturated:
        return None
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=0.5 * strength(dram, DRAM_FULL, 95.0),
        evidence=(percent(m.DRAM, dram, DRAM_FULL),),
        advice=(
            f"Device memory is {dram:.0f} % busy: more parallelism cannot help any more, at most "
            f"{100 / dram:.2f} times the speed is left at this traffic. Move less: fuse "
            "neighbouring passes, store narrower types where the tolerance allows, and keep "
            "streams that are read once out of the way of reused data with evict-first loads and "
            "stores (__ldcs, __stcs)."
        ),
        methods=("memory.cache_hints", "memory.fused_passes", "memory.register_reuse"),
    )


TOOL = Tool(
    name="dram_saturated",
    level="kernel",
    affinity=frozenset({"memory", "mixed", "latency"}),
    order=140,
    judge=judge,
    symptom_of=frozenset(
        {"cache_thrash", "coalescing", "excess_traffic", "register_spills", "unfused_kernels"}
    ),
)
