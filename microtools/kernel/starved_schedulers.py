"""Schedulers have too little to issue, and no tool knows better why."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, strength

STARVED = 0.6


def judge(context: KernelContext) -> Finding | None:
    """Silent if a unit is busy, or few warps feed tensor cores: issuing little is enough."""
    issue = context.value(m.ISSUE)
    if issue is None or issue >= STARVED or context.busy or context.warp_specialised:
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=context.hot_lines,
        strength=0.7 * strength(issue, STARVED, 0.1),
        evidence=(Evidence(metric=m.ISSUE, value=issue, threshold=STARVED),),
        advice=(
            f"A scheduler issues in {issue:.0%} of the cycles and no unit is busy: there is too "
            "little independent work in flight. Let each thread work on several elements at once "
            "with separate accumulators, unroll, and use enough warps per multiprocessor."
        ),
        methods=("latency.work_per_thread", "compute.loop_unrolling", "latency.block_size"),
    )


TOOL = Tool(
    name="starved_schedulers",
    level="kernel",
    affinity=frozenset({"latency"}),
    order=370,
    judge=judge,
    symptom_of=frozenset(
        {
            "async_copy",
            "atomic_contention",
            "bank_conflicts",
            "barrier_stalls",
            "block_shape",
            "cache_thrash",
            "coalescing",
            "control_flow",
            "dependent_instructions",
            "divergence",
            "excess_traffic",
            "global_latency",
            "load_queue",
            "missing_reuse",
            "occupancy_limiter",
            "occupancy_shortfall",
            "register_spills",
            "serialised_wgmma",
            "shared_latency",
            "small_grid",
            "tail_wave",
            "write_drain",
        }
    ),
)
