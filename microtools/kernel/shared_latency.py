"""Warps wait for shared memory, shuffles or special functions."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from microtools.stalls import Remedy, Stall


def _remedy(context: KernelContext) -> Remedy:
    """Names what the code holds of all that this stall may be about."""
    uses = _uses(context)
    names = " or ".join(uses) if uses else "shared memory, shuffles or special functions"
    advice = f"waiting for {names}"
    methods = ["memory.register_reuse"]
    lines: tuple[int, ...] = ()
    if not uses or "shared memory" in uses:
        advice += (
            ": read shared memory 128 bits at a time, keep values in registers and reuse them more "
            "often, and have several independent reads under way before the first is used"
        )
        methods += ["compute.register_tiling", "compute.loop_unrolling"]
        lines = context.lines("shared_loads")
    if "shuffles" in uses:
        advice += "; reduce several values in the same shuffle steps, interleaved"
        methods.append("latency.work_per_thread")
        lines = lines or context.lines("shuffles")
    if "special functions" in uses:
        advice += "; compute each transcendental once, or use its hardware approximation"
        methods.append("compute.fast_math")
        lines = lines or context.lines("special_ops")
    return Remedy(advice, tuple(methods), lines)


def _uses(context: KernelContext) -> list[str]:
    """What the code holds that puts warps on the short scoreboard, the most frequent first."""
    if context.sass is None:
        return []
    shared = sum(context.sass.shared_loads.values()) + sum(context.sass.shared_stores.values())
    counts = {
        "shared memory": shared,
        "shuffles": context.sass.shuffles,
        "special functions": context.sass.special_ops,
    }
    return [name for name in sorted(counts, key=lambda name: -counts[name]) if counts[name]]


TOOL = Stall(
    tool="shared_latency",
    reasons=(m.STALL_SHORT_SCOREBOARD, m.STALL_MIO_THROTTLE),
    axis="memory",
    remedy=_remedy,
).as_tool(
    order=220,
    symptom_of=frozenset(
        {
            "atomic_contention",
            "bank_conflicts",
            "coalescing",
            "conversions",
            "missing_reuse",
            "shared_saturated",
            "special_functions",
            "stray_doubles",
        }
    ),
)
