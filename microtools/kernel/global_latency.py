"""Warps wait for global memory because too few loads are in flight."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from microtools.stalls import Remedy, Stall

ENOUGH_WARPS = 60.0
CACHE_FULL = 85.0


def _remedy(context: KernelContext) -> Remedy:
    """What keeps more loads in flight and is not done yet."""
    advice = (
        "waiting for global or local memory. Put more independent loads in flight: load several "
        "elements into registers before using the first, by unrolling or more work per thread"
    )
    methods = ["compute.loop_unrolling", "latency.work_per_thread"]
    if context.sass is not None and not context.sass.global_loads.get("128"):
        advice += "; load 128 bits at a time"
        methods.append("memory.vectorized_loads")
    if context.stages_tiles:
        advice += "; fetch the next tile with cp.async while this one is used"
        methods += ["latency.double_buffering", "memory.async_copy"]
    active = context.value(m.ACHIEVED_OCCUPANCY)
    if active is not None and active < ENOUGH_WARPS:
        advice += f"; only {active:.0f} % of the warps are active, so raise occupancy"
        methods.append("latency.block_size")
    return Remedy(advice, tuple(methods), _places(context))


def _places(context: KernelContext) -> tuple[int, ...]:
    """Loads inside the hot loops if those are known, or else all loads."""
    loads = context.lines("global_loads")
    loops = tuple(
        sorted({loop.line for loop in context.hot_loops if loop.line and loop.global_loads})
    )
    return loads if len(loads) <= 4 or not loops else loops


def _weight(context: KernelContext) -> float:
    """Less if a cache is full: the wait is then partly, or only, a symptom of that."""
    queueing = max(context.known(m.L1, m.L2).values(), default=0.0) >= CACHE_FULL
    return 0.4 if queueing else 1.0


TOOL = Stall(
    tool="global_latency",
    reasons=(m.STALL_LONG_SCOREBOARD,),
    axis="latency",
    remedy=_remedy,
    weight=_weight,
    affinity=frozenset({"latency", "memory", "mixed"}),
).as_tool(
    order=200,
    symptom_of=frozenset(
        {
            "atomic_contention",
            "cache_thrash",
            "coalescing",
            "missing_reuse",
            "register_spills",
            "small_grid",
        }
    ),
)
