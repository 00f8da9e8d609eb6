"""Warps wait for branches to resolve, or for instructions and constants to be fetched."""

from __future__ import annotations

from mcts.domain import Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, Tool, percent, strength, where
from microtools.stalls import WAITING, Remedy, Stall

LONG_CODE = 6000
"""Instructions of 16 bytes from which a hot body no longer fits the instruction caches well."""
UNIFORM = 90.0
UNIT_BUSY = 70.0


def _remedy(context: KernelContext) -> Remedy:
    branch = context.stall_share(m.STALL_BRANCH) or 0.0
    fetch = context.stall_share(m.STALL_NO_INSTRUCTION) or 0.0
    constants = context.stall_share(m.STALL_IMC_MISS) or 0.0
    if constants > max(branch, fetch):
        return Remedy(
            "fetching constants. Read kernel arguments and __constant__ data with indices that are "
            "the same for the whole warp; put tables that lanes index differently into shared "
            "memory",
            ("memory.shared_tiling", "memory.register_reuse"),
        )
    if fetch > branch:
        size = f" ({context.sass.instructions} instructions)" if context.sass else ""
        long = context.sass is not None and context.sass.instructions >= LONG_CODE
        cure = "unroll less and split rare cases off" if long else "let warps run the same code"
        return Remedy(
            f"fetching instructions{size}. Keep the hot loop short enough for the instruction "
            f"cache: {cure}; give each block enough work that starting it does not show",
            ("compute.loop_unrolling", "latency.work_per_thread", "latency.persistent_grid"),
        )
    uniform = context.value(m.UNIFORM_BRANCHES)
    torn = ""
    if uniform is not None and 0 < uniform < UNIFORM:  # 0 is also what code without branches shows
        torn = f" (only {uniform:.0f} % of the branches take a whole warp the same way)"
    return Remedy(
        f"resolving branches{torn}. Unroll short loops with a constant trip count, hoist bounds "
        "checks out of the inner loop, and turn short branches into selects",
        ("compute.loop_unrolling", "compute.strength_reduction"),
        context.lines("branches"),
    )


STALLS = Stall(
    tool="control_flow",
    reasons=(m.STALL_BRANCH, m.STALL_NO_INSTRUCTION, m.STALL_IMC_MISS),
    axis="latency",
    threshold=0.20,
    remedy=_remedy,
)


def judge(context: KernelContext) -> Finding | None:
    """What warps wait for first, else a unit for branches and indexed constants that is full."""
    return STALLS.judge(context) or _address_unit(context)


def _address_unit(context: KernelContext) -> Finding | None:
    busy = context.value(m.ADU_PIPE)
    if busy is None or busy < UNIT_BUSY or context.dram_saturated:
        return None
    if busy < max(
        context.busiest_pipe[1] if context.busiest_pipe else 0.0, context.value(m.LSU_PIPE) or 0.0
    ):
        return None
    lines = context.lines("branches")
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=strength(busy, UNIT_BUSY, 95.0),
        evidence=(percent(m.ADU_PIPE, busy, UNIT_BUSY),),
        advice=(
            f"The unit that resolves branches and reads constants through an index is {busy:.0f} % "
            f"busy{where(lines)}, more than any that computes. Unroll so that fewer branches are "
            "taken, turn short ones into selects, and put tables that lanes index differently into "
            "shared memory or registers instead of __constant__."
        ),
        methods=("compute.loop_unrolling", "compute.strength_reduction", "memory.shared_tiling"),
    )


TOOL = Tool(
    name="control_flow",
    level="kernel",
    affinity=WAITING,
    order=350,
    judge=judge,
    symptom_of=frozenset(
        {"barrier_stalls", "block_shape", "divergence", "rolled_loops", "small_grid"}
    ),
)
