"""Copies from memory that the system may page out go through a staging buffer first."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

SHARE = 0.10


def judge(context: KernelContext) -> Finding | None:
    """Silent if copies take little of the span."""
    seen = context.timeline
    if seen is None or seen.span_us <= 0 or seen.pageable_copies <= 0 or seen.copy_us <= 0:
        return None
    copies = max(seen.pageable_copies, seen.copies_to_device + seen.copies_to_host)
    moved = max(seen.copied_bytes, seen.pageable_bytes)
    share = min(1.0, seen.copy_us / seen.span_us) * seen.pageable_bytes / moved if moved else 0.0
    if share < SHARE:
        return None
    rate = seen.copied_bytes / seen.copy_us / 1e3
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=strength(share, SHARE, 0.6),
        evidence=(
            Evidence(
                metric="share of the span in copies from pageable memory",
                value=round(share, 3),
                threshold=SHARE,
            ),
        ),
        advice=(
            f"{seen.pageable_copies} of {copies} copies use pageable host memory: they run at "
            f"{rate:.1f} GB/s, hold up the host and cannot overlap with kernels. Allocate the host "
            "buffers with cudaMallocHost (or register them once with cudaHostRegister) and copy "
            "with cudaMemcpyAsync in a stream of their own."
        ),
        methods=("latency.double_buffering", "memory.async_copy"),
    )


TOOL = Tool(name="pageable_copies", level="system", affinity=ANY, order=400, judge=judge)
