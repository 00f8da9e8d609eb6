"""The device is idle between many short kernels."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, capped, strength

IDLE = 0.20
SHORT = 0.5
LEAST_KERNELS = 4
MOST_GAIN = 3.0


def judge(context: KernelContext) -> Finding | None:
    """From the timeline; without one, from what empty launches cost on this device.

    Silent if the launches are already a graph.
    """
    if context.timeline is not None:
        return _from_timeline(context)
    return _from_launch_cost(context)


def _from_timeline(context: KernelContext) -> Finding | None:
    seen = context.timeline
    if seen is None or seen.kernels < LEAST_KERNELS or seen.graph_launches:
        return None
    idle, short = seen.idle_share, seen.short_kernels / seen.kernels
    if idle is None or idle < IDLE or short < SHORT:
        return None
    typical = seen.median_kernel_us
    length = f" of {typical:.1f} us" if typical is not None else ""
    return _finding(
        idle=idle,
        what=(
            f"The device does nothing for {idle:.0%} of the time between {seen.kernels} kernels"
            f"{length}"
        ),
        evidence=(
            Evidence(
                metric="share of the span in which the device is idle",
                value=round(idle, 3),
                threshold=IDLE,
            ),
            Evidence(
                metric="share of kernels shorter than 10 us", value=round(short, 3), threshold=SHORT
            ),
        ),
    )


def _from_launch_cost(context: KernelContext) -> Finding | None:
    ceilings = context.hardware.ceilings if context.hardware else None
    if ceilings is None or ceilings.launch_us is None or not context.time_us:
        return None
    launches = sum(kernel.launches for kernel in context.profile.kernels)
    share = min(1.0, launches * ceilings.launch_us / context.time_us)
    if share < IDLE:
        return None
    return _finding(
        idle=share,
        what=(
            f"{launches} launches at {ceilings.launch_us:.1f} us each would take {share:.0%} of "
            f"the {context.time_us:.1f} us of a call if they were empty"
        ),
        evidence=(
            Evidence(
                metric="share of the time that empty launches take",
                value=round(share, 3),
                threshold=IDLE,
            ),
        ),
    )


def _finding(*, idle: float, what: str, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=strength(idle, IDLE, 0.7),
        evidence=evidence,
        advice=(
            f"{what}. Launch less often: merge steps into one kernel, handle a batch per launch, "
            "fold a small second pass into the last block of the first, or capture the sequence in "
            "a CUDA graph and launch that."
        ),
        methods=("latency.fewer_launches", "memory.fused_passes", "latency.persistent_grid"),
        expected_gain=capped(idle, MOST_GAIN),
    )


TOOL = Tool(
    name="launch_overhead",
    level="system",
    affinity=ANY,
    order=460,
    judge=judge,
    symptom_of=frozenset({"allocations_in_loop", "host_synchronisation", "small_copies"}),
)
