"""Too few warps can be resident to hide latency; says which resource caps them."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, KernelContext, Tool, percent, strength

THEORETICAL = 80.0
ISSUE_ENOUGH = 0.7
UNIT_ENOUGH = 70.0
"""% of peak of the busiest unit from which more warps would mostly queue for it."""
_LIMITS = {
    "registers": m.LIMIT_REGISTERS,
    "shared memory": m.LIMIT_SHARED,
    "block size": m.LIMIT_WARPS,
    "blocks per multiprocessor": m.LIMIT_BLOCKS,
    "barriers": m.LIMIT_BARRIERS,
}


def judge(context: KernelContext) -> Finding | None:
    """Low theoretical occupancy, with the resource that sets it.

    Silent if a unit or the schedulers are busy (more warps would only queue), if the grid
    does not fill what is allowed, and for kernels that few warps are meant to run.
    """
    theoretical = context.value(m.THEORETICAL_OCCUPANCY)
    if theoretical is None or theoretical >= THEORETICAL or context.warp_specialised:
        return None
    need = _need(context)
    if need <= 0 or (context.value(m.WAVES) or 1.0) < 1.0:
        return None
    limits = {name: v for name, key in _LIMITS.items() if (v := context.value(key)) is not None}
    if not limits:
        return None
    least = min(limits.values())
    resources = [name for name, limit in limits.items() if limit == least]
    others = [limit for limit in limits.values() if limit > least]
    remedies = [_remedy(context, resource) for resource in resources]
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=need * strength(theoretical, THEORETICAL, 12.5),
        evidence=(
            percent(m.THEORETICAL_OCCUPANCY, theoretical, THEORETICAL),
            Evidence(
                metric=_LIMITS[resources[0]],
                value=least,
                threshold=min(others, default=least),
                unit=" blocks",
            ),
        ),
        advice=(
            f"At most {theoretical:.0f} % of the warps a multiprocessor can hold are resident, "
            f"limited by {' and '.join(resources)} ({least:.0f} blocks), and no unit is full. "
            f"{' '.join(advice for advice, _ in remedies)}"
        ),
        methods=tuple(dict.fromkeys(method for _, methods in remedies for method in methods)),
    )


def _need(context: KernelContext) -> float:
    """How far more warps could help: 1 up to a busy unit, 0 if one or the issue is full."""
    if (context.value(m.ISSUE) or 0.0) >= ISSUE_ENOUGH:
        return 0.0
    return min(1.0, max(0.0, (UNIT_ENOUGH - (context.busiest or 0.0)) / (UNIT_ENOUGH - BUSY)))


def _remedy(context: KernelContext, resource: str) -> tuple[str, tuple[str, ...]]:
    if resource == "registers":
        registers = context.value(m.REGISTERS)
        used = f"{registers:.0f} registers per thread: " if registers is not None else ""
        return (
            f"{used}declare __launch_bounds__(threads, blocks), keep fewer values per thread, or "
            "shrink the per-thread tile; watch that nothing spills.",
            ("latency.launch_bounds", "latency.work_per_thread"),
        )
    if resource == "shared memory":
        held = context.value(m.SHARED_PER_BLOCK)
        used = f"{held / 1024:.1f} KiB of shared memory per block: " if held is not None else ""
        return (
            f"{used}shrink the shared tile or the number of stages, reuse one buffer for two "
            "phases, or let more threads share one tile.",
            ("memory.shared_tiling", "latency.block_size"),
        )
    if resource == "barriers":
        return (
            "Use fewer named barriers per block, or smaller groups synchronised by __syncwarp.",
            ("latency.fewer_barriers", "compute.warp_primitives"),
        )
    return (
        "Change the block size: 128 to 256 threads usually fill a multiprocessor, while very "
        "small blocks run out of block slots and very large ones do not divide its warps.",
        ("latency.block_size",),
    )


TOOL = Tool(
    name="occupancy_limiter",
    level="kernel",
    affinity=frozenset({"latency", "memory", "mixed"}),
    order=180,
    judge=judge,
    symptom_of=frozenset({"block_shape", "coalescing"}),
)
