"""The host waits for the device between launches, and the device then waits for the host."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, capped, strength

IDLE = 0.10
PER_KERNEL = 0.10
"""Waits per kernel from which they stand between the launches, not at the end."""
LEAST_CALLS = 4
MOST_GAIN = 2.5


def judge(context: KernelContext) -> Finding | None:
    """Waiting once for a result is no fault; waits that leave the device idle are."""
    seen = context.timeline
    if seen is None or seen.idle_share is None or not seen.kernels:
        return None
    waits = seen.sync_calls - seen.calls
    rate = waits / seen.kernels
    if waits < LEAST_CALLS or rate < PER_KERNEL or seen.idle_share < IDLE:
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=min(1.0, rate + 0.5) * strength(seen.idle_share, IDLE, 0.5),
        evidence=(
            Evidence(
                metric="waits of the host per kernel", value=round(rate, 3), threshold=PER_KERNEL
            ),
            Evidence(
                metric="share of the span in which the device is idle",
                value=round(seen.idle_share, 3),
                threshold=IDLE,
            ),
        ),
        advice=(
            f"The host waits for the device {seen.sync_calls} times around {seen.kernels} kernels "
            f"({seen.sync_us:.0f} us in all), and the device is idle for {seen.idle_share:.0%} of "
            "the span until the next launch arrives. Order work by streams and events "
            "(cudaStreamWaitEvent) instead of cudaDeviceSynchronize, keep loop conditions and "
            "scalars on the device, test convergence every few steps only, and wait once at the "
            "end."
        ),
        methods=("latency.fewer_launches", "latency.persistent_grid"),
        expected_gain=capped(seen.idle_share, MOST_GAIN),
    )


TOOL = Tool(
    name="host_synchronisation",
    level="system",
    affinity=ANY,
    order=420,
    judge=judge,
    symptom_of=frozenset({"allocations_in_loop", "small_copies"}),
)
