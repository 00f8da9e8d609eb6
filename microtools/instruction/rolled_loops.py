"""A hot loop is short and not unrolled: counters, branches and single loads take its time."""

from __future__ import annotations

from collections.abc import Iterable

from mcts.domain import Evidence, Finding, InstructionKind, SassLoop
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, strength, where
from microtools.trigonometry import holds_slow_path

LONGEST = 40
"""Instructions up to which a trip is short."""
OVERHEAD, ALL_OVERHEAD = 0.4, 0.85
"""Shares of a trip's instructions that count, compare, move and branch: from the second on the loop
computes indices, and unrolling it leaves them."""
LEAST_GAIN_ISSUE = 0.2
MEMORY_FULL = 85.0
_NO_WORK: tuple[InstructionKind, ...] = ("integer", "control", "other")


def judge(context: KernelContext) -> Finding | None:
    """Silent if memory is full, or the loop is trigonometry's, or the rest of an unrolled one."""
    memory = max(context.known(m.MEMORY, m.DRAM).values(), default=0.0)
    if context.dram_saturated or context.pipe_saturated or memory >= MEMORY_FULL:
        return None
    reduces = context.sass is not None and holds_slow_path(context.sass)
    rolled = [
        loop
        for loop in _main_loops(context.hot_loops)
        if _is_short(loop)
        and _overhead(loop) < ALL_OVERHEAD
        and not (reduces and _has_integers_alone(loop))
    ]
    if not rolled:
        return None
    worst = max(rolled, key=_overhead)
    share = _overhead(worst)
    if share < OVERHEAD:
        return None
    lines = tuple(sorted({loop.line for loop in rolled if loop.line is not None}))
    loads = " with a single load in flight" if worst.global_loads == 1 else ""
    return Finding(
        tool=TOOL.name,
        axis="latency",
        lines=lines,
        strength=_weight(context) * strength(share, OVERHEAD, 0.75),
        evidence=(
            Evidence(
                metric="share of a trip's instructions that index, count and branch",
                value=round(share, 3),
                threshold=OVERHEAD,
            ),
            Evidence(metric="instructions per trip", value=worst.instructions, threshold=LONGEST),
        ),
        advice=(
            f"The hot loop is {worst.instructions} instructions long{where(lines)} and not "
            f"unrolled: {share:.0%} of each trip indexes, counts and branches{loads}. Put "
            "#pragma unroll 4 (or 8) in front of it, make the trip count a compile-time constant "
            "where it can be, step pointers instead of recomputing addresses, and keep the body "
            "free of calls and of early exits that stop the compiler from unrolling."
        ),
        methods=("compute.loop_unrolling", "latency.work_per_thread"),
    )


def _main_loops(loops: Iterable[SassLoop]) -> list[SassLoop]:
    """Without the rest loops that an unrolled loop leaves behind for the last trips.

    They stand on the lines of the unrolled one; without lines, one unrolled loop of that depth is
    taken to explain all the others.
    """
    found = list(loops)
    unrolled = {loop.line for loop in found if loop.unrolled > 1}
    if None in unrolled:
        return []
    return [loop for loop in found if loop.unrolled == 1 and loop.line not in unrolled]


def _is_short(loop: SassLoop) -> bool:
    works = any(loop.mix.get(kind) for kind in ("memory", "fp32", "fp64", "half", "special"))
    return loop.instructions <= LONGEST and works and not loop.barriers


def _has_integers_alone(loop: SassLoop) -> bool:
    return not any(loop.mix.get(kind) for kind in ("fp32", "fp64", "half", "special"))


def _overhead(loop: SassLoop) -> float:
    total = sum(loop.mix.values())
    idle = sum(loop.mix.get(kind, 0) for kind in _NO_WORK)
    return idle / total if total else 0.0


def _weight(context: KernelContext) -> float:
    """Less if they were not counted, or if the schedulers are nearly idle for other reasons."""
    issue = context.value(m.ISSUE)
    if issue is None:
        return 0.5
    return 0.8 if issue >= LEAST_GAIN_ISSUE else 0.6


TOOL = Tool(
    name="rolled_loops",
    level="instruction",
    affinity=RUNNING,
    order=330,
    judge=judge,
    symptom_of=frozenset({"atomic_contention", "coalescing", "divergence", "small_grid"}),
)
