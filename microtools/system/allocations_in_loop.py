"""Device memory is allocated and freed between kernels."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

SHARE = 0.05
PER_KERNEL = 0.5
LEAST_CALLS = 4


def judge(context: KernelContext) -> Finding | None:
    """Fires if the calls take a visible part of the span, or one comes with every kernel."""
    seen = context.timeline
    if seen is None or seen.span_us <= 0 or seen.allocations < LEAST_CALLS or not seen.kernels:
        return None
    share = min(1.0, seen.allocation_us / seen.span_us)
    if share < SHARE:
        return None
    rate = seen.allocations / seen.kernels
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=strength(share, SHARE, 0.4),
        evidence=(
            Evidence(
                metric="share of the span in calls that allocate or free",
                value=round(share, 3),
                threshold=SHARE,
            ),
            *(
                (
                    Evidence(
                        metric="such calls per kernel", value=round(rate, 2), threshold=PER_KERNEL
                    ),
                )
                if rate >= PER_KERNEL
                else ()
            ),
        ),
        advice=(
            f"{seen.allocations} calls between kernels allocate or free device memory "
            f"({seen.allocation_us:.0f} us of host time); cudaFree also waits for the device. "
            "Allocate the largest buffers once in front of the loop and use them again, or use "
            "cudaMallocAsync with a pool that keeps its memory "
            "(cudaMemPoolAttrReleaseThreshold)."
        ),
        methods=("latency.fewer_launches", "memory.fused_passes"),
    )


TOOL = Tool(name="allocations_in_loop", level="system", affinity=ANY, order=410, judge=judge)
