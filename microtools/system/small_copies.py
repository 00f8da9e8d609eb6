"""Many small copies between host and device, each paying the cost of a transfer."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

PER_CALL = 4.0
MOSTLY = 0.5
SHARE = 0.10
"""Of the span: the copies themselves and the idle time around them."""


def judge(context: KernelContext) -> Finding | None:
    """Counts copies below 64 KiB; silent if copying and idling take little of the span."""
    seen = context.timeline
    if seen is None or seen.span_us <= 0 or seen.small_copies <= 0:
        return None
    count = seen.small_copies / seen.calls
    share = min(1.0, (seen.copy_us + seen.gap_us) / seen.span_us)
    copies = max(seen.small_copies, seen.copies_to_device + seen.copies_to_host)
    if count < PER_CALL or share < SHARE or seen.small_copies < MOSTLY * copies:
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=(0.4 + 0.6 * share) * strength(count, PER_CALL, 32.0),
        evidence=(
            Evidence(
                metric="copies below 64 KiB per call", value=round(count, 1), threshold=PER_CALL
            ),
            Evidence(
                metric="share of the span that copies and idle time take",
                value=round(share, 3),
                threshold=SHARE,
            ),
        ),
        advice=(
            f"{seen.small_copies} of {copies} copies move less than 64 KiB, and copying and idling "
            f"take {share:.0%} of the span. Pack small arrays into one buffer and copy it once, "
            "pass scalars as kernel arguments, keep values that only the next kernel needs on the "
            "device, and read results back together at the end."
        ),
        methods=("latency.fewer_launches", "memory.fused_passes"),
    )


TOOL = Tool(name="small_copies", level="system", affinity=ANY, order=390, judge=judge)
