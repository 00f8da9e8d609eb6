"""Copies between host and device take most of the time."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

SHARE = 0.40
MOST_GAIN = 2.0


def judge(context: KernelContext) -> Finding | None:
    """Fires if copies take longer than the kernels they serve."""
    seen = context.timeline
    if seen is None or seen.span_us <= 0:
        return None
    share = min(1.0, seen.copy_us / seen.span_us)
    if share < SHARE or seen.copy_us < seen.busy_us:
        return None
    # The best that overlapping can do: copies and kernels at the same time, nothing idle.
    overlapped = max(seen.copy_us, seen.busy_us)
    gain = round(min(MOST_GAIN, seen.span_us / overlapped), 2)
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(share, SHARE, 0.9),
        evidence=(
            Evidence(metric="share of the span in copies", value=round(share, 3), threshold=SHARE),
        ),
        advice=(
            f"Copies take {share:.0%} of the span ({seen.copied_bytes / 1e6:.1f} MB in "
            f"{seen.copy_us:.0f} us), kernels {seen.busy_us / seen.span_us:.0%}. Keep data on the "
            "device between calls, copy only what changed, send narrower types and convert on the "
            "device; then cut the work into chunks and copy the next chunk from pinned memory in "
            "a second stream while this one is computed."
        ),
        methods=("latency.double_buffering", "memory.fused_passes"),
        expected_gain=gain if gain >= 1.05 else None,
    )


TOOL = Tool(
    name="transfer_bound",
    level="system",
    affinity=ANY,
    order=380,
    judge=judge,
)
