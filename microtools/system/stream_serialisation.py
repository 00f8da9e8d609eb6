"""Several streams, yet what runs in them runs one after the other."""

from __future__ import annotations

from mcts.domain import Evidence, Finding, TimelineFacts
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

OVERLAP = 0.10
LEAST_KERNELS = 4
LEAST_COPYING = 0.20
"""Share of the span in copies from which kernels could well run beside them."""
FULL_GRID = 1.0


def judge(context: KernelContext) -> Finding | None:
    """Kernels beside kernels, unless one fills the device; and copies beside kernels."""
    seen = context.timeline
    if seen is None or seen.streams < 2 or seen.kernels < LEAST_KERNELS or seen.busy_us <= 0:
        return None
    beside = {
        "kernels beside kernels": None
        if _fills_the_device(context)
        else seen.overlapped_us / seen.busy_us,
        "copies beside kernels": _copies_beside_kernels(seen),
    }
    known = {what: share for what, share in beside.items() if share is not None}
    if not known or min(known.values()) >= OVERLAP:
        return None
    what = min(known, key=lambda name: known[name])
    overlap = known[what]
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=0.8 * strength(overlap, OVERLAP, 0.0),
        evidence=(
            Evidence(
                metric=f"share of the time with {what}",
                value=round(overlap, 3),
                threshold=OVERLAP,
            ),
            Evidence(metric="streams that run kernels", value=seen.streams, threshold=2),
        ),
        advice=(
            f"Kernels run in {seen.streams} streams, but there are {what} for only {overlap:.0%} "
            "of the time. Look for what serialises them: launches in the default stream (create "
            "the others with cudaStreamNonBlocking), cudaMalloc, cudaFree or copies from pageable "
            "memory between them, or a wait of the host after each. Small kernels that belong "
            "together may as well become one grid."
        ),
        methods=("latency.fewer_launches", "latency.persistent_grid"),
    )


def _copies_beside_kernels(seen: TimelineFacts) -> float | None:
    """Share of the shorter of both that runs beside the other; None if copies are few.

    What kernels, copies and gaps add up to beyond the span ran at the same time.
    """
    if seen.copy_us < LEAST_COPYING * seen.span_us:
        return None
    both = seen.busy_us + seen.copy_us + seen.gap_us + seen.first_use_us - seen.span_us
    return max(0.0, both) / min(seen.busy_us, seen.copy_us)


def _fills_the_device(context: KernelContext) -> bool:
    waves = context.value(m.WAVES)
    return context.busy or (waves is not None and waves >= FULL_GRID)


TOOL = Tool(
    name="stream_serialisation",
    level="system",
    affinity=ANY,
    order=430,
    judge=judge,
    symptom_of=frozenset({"allocations_in_loop", "host_synchronisation", "pageable_copies"}),
)
