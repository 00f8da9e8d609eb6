"""Tiles that are filled while nobody computes."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

LEAST_STALL = 0.15


def judge(case: Case) -> Finding | None:
    """A tile staged by load, store, barrier, with no copy in the background."""
    if not case.staged:
        return None
    shares = [
        share
        for stall in (m.STALL_LONG_SCOREBOARD, m.STALL_BARRIER)
        if (share := case.stall_share(stall)) is not None
    ]
    if not shares or sum(shares) < LEAST_STALL:
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=0.8 * strength(sum(shares), LEAST_STALL, 0.6),
        evidence=(
            Evidence(
                metric="share of warp latency on global memory and barriers",
                value=round(sum(shares), 3),
                threshold=LEAST_STALL,
            ),
            Evidence(metric="asynchronous copies in the code", value=0, threshold=1),
        ),
        advice=(
            "Each tile goes from global memory through registers into shared memory, and everyone "
            "waits for it. Use two tile buffers and fetch the next tile while this one is used: "
            "with cp.async (16 bytes per thread, __pipeline or cp.async.wait_group), or by loading "
            "it into registers before the computation and storing it after."
        ),
        methods=("latency.double_buffering", "memory.async_copy"),
    )


TOOL = Tool(
    name="async_copy",
    level="instruction",
    affinity=frozenset({"memory", "latency", "compute", "mixed"}),
    judge=judge,
)
