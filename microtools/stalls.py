"""What warps wait for between two instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcts.domain import Axis, BoundClass, Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

THRESHOLD = 0.30
CRITICAL = 0.60
DRAM_BUSY = 60.0
ENOUGH_WARPS = 60.0
ISSUE_ENOUGH = 0.8
_WAITING: frozenset[BoundClass] = frozenset({"latency", "memory", "mixed", "compute"})


@dataclass(frozen=True)
class _Stall:
    """One or more stall reasons with a common remedy."""

    tool: str
    reasons: tuple[str, ...]
    axis: Axis
    advice: str
    methods: tuple[str, ...]
    threshold: float = THRESHOLD
    symptom_of_dram: bool = False
    tailor: Callable[[Case], tuple[str, tuple[str, ...]]] | None = None
    """More advice and methods, as far as they apply to the case at hand."""

    def judge(self, case: Case) -> Finding | None:
        """Fires when the reasons take more than `threshold` of warp latency and issue is low."""
        issue = case.value(m.ISSUE)
        if issue is not None and issue >= ISSUE_ENOUGH:
            return None
        if self.symptom_of_dram and case.saturated:  # more loads in flight would only queue there
            return None
        shares = {r: s for r in self.reasons if (s := case.stall_share(r)) is not None}
        share = sum(shares.values())
        if not shares or share <= self.threshold:
            return None
        more, methods = self.tailor(case) if self.tailor else ("", ())
        return Finding(
            tool=self.tool,
            axis=self.axis,
            strength=self._weight(case)
            * strength(share, self.threshold, max(CRITICAL, 2 * self.threshold)),
            evidence=tuple(
                Evidence(
                    metric=f"share of warp latency in {_short(reason)}",
                    value=round(found, 3),
                    threshold=self.threshold,
                )
                for reason, found in shares.items()
            ),
            advice=f"{min(share, 1):.0%} of a warp's time goes to {self.advice}{more}",
            methods=(*self.methods, *methods),
        )

    def _weight(self, case: Case) -> float:
        """Less where DRAM is busy: the wait is then partly, or only, a symptom of that."""
        dram = case.value(m.DRAM)
        if case.saturated:
            return 0.4
        return 0.7 if self.symptom_of_dram and dram is not None and dram >= DRAM_BUSY else 1.0

    def as_tool(self) -> Tool:
        return Tool(name=self.tool, level="kernel", affinity=_WAITING, judge=self.judge)


def _short(metric: str) -> str:
    return metric.split("_stalled_")[-1].split("_per_issue")[0]


def _more_in_flight(case: Case) -> tuple[str, tuple[str, ...]]:
    """What keeps more loads in flight and is not done yet."""
    text, methods = "", []
    if case.sass is not None and not case.sass.global_loads.get("128"):
        text += " Load 128 bits at a time."
        methods.append("memory.vectorized_loads")
    if case.staged:
        text += " Fetch the next tile with cp.async while this one is used."
        methods += ["latency.double_buffering", "memory.async_copy"]
    active = case.value(m.ACHIEVED_OCCUPANCY)
    if active is not None and active < ENOUGH_WARPS:
        text += f" Only {active:.0f} % of the warps are active: raise occupancy."
        methods.append("latency.block_size")
    return text, tuple(methods)


LONG_SCOREBOARD = _Stall(
    tool="global_latency",
    reasons=(m.STALL_LONG_SCOREBOARD,),
    axis="latency",
    symptom_of_dram=True,
    advice=(
        "waiting for global or local memory. Put more independent loads in flight: load several "
        "elements into registers before using the first, by unrolling or more work per thread."
    ),
    methods=("compute.loop_unrolling", "latency.work_per_thread"),
    tailor=_more_in_flight,
).as_tool()

BARRIER = _Stall(
    tool="barrier_stalls",
    reasons=(m.STALL_BARRIER,),
    axis="latency",
    threshold=0.20,
    advice=(
        "waiting at __syncthreads. Reduce inside a warp with __shfl_xor_sync and cross warps "
        "once; let a warp own a row so that no block barrier is needed; use smaller blocks; "
        "double-buffer the tile so that one barrier per step suffices."
    ),
    methods=("compute.warp_primitives", "latency.block_size", "latency.double_buffering"),
).as_tool()

SHARED_QUEUE = _Stall(
    tool="shared_latency",
    reasons=(m.STALL_SHORT_SCOREBOARD, m.STALL_MIO_THROTTLE),
    axis="memory",
    advice=(
        "waiting for shared memory, shuffles or special functions. Remove bank conflicts, read "
        "shared memory 128 bits at a time, keep values in registers and reuse them more often."
    ),
    methods=("memory.shared_padding", "compute.register_tiling", "memory.register_reuse"),
).as_tool()

LOAD_QUEUE = _Stall(
    tool="load_queue",
    reasons=(m.STALL_LG_THROTTLE,),
    axis="memory",
    threshold=0.15,
    advice=(
        "waiting to enter the queue of global accesses: too many small ones. Widen them to 128 "
        "bits, and fetch what several threads read once into shared memory or registers."
    ),
    methods=("memory.vectorized_loads", "memory.shared_tiling", "compute.register_tiling"),
).as_tool()

DEPENDENCY = _Stall(
    tool="dependent_instructions",
    reasons=(m.STALL_WAIT, m.STALL_MATH, m.STALL_DISPATCH),
    axis="compute",
    advice=(
        "fixed latencies and full arithmetic pipes: each instruction waits for the one before. "
        "Give each thread several independent accumulators or outputs, and unroll the inner loop."
    ),
    methods=("compute.loop_unrolling", "latency.work_per_thread", "compute.register_tiling"),
).as_tool()

CONTROL_FLOW = _Stall(
    tool="control_flow",
    reasons=(m.STALL_BRANCH, m.STALL_NO_INSTRUCTION, m.STALL_IMC_MISS),
    axis="latency",
    threshold=0.20,
    advice=(
        "resolving branches and fetching instructions or constants. Unroll short loops with a "
        "constant trip count, hoist bounds checks out of the inner loop; where the code is already "
        "very long, unroll less."
    ),
    methods=("compute.loop_unrolling",),
).as_tool()

WRITE_DRAIN = _Stall(
    tool="write_drain",
    reasons=(m.STALL_DRAIN, m.STALL_MEMBAR),
    axis="memory",
    threshold=0.20,
    advice=(
        "waiting for stores or fences to finish. Make the stores coalesced and 128 bits wide, "
        "mark results that are not read again as streaming, and drop fences that order nothing."
    ),
    methods=("memory.coalesced_access", "memory.vectorized_loads", "memory.cache_hints"),
).as_tool()

TOOLS = (
    LONG_SCOREBOARD,
    BARRIER,
    SHARED_QUEUE,
    LOAD_QUEUE,
    DEPENDENCY,
    CONTROL_FLOW,
    WRITE_DRAIN,
)
