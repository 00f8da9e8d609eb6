"""Schedulers that have nothing to issue, or too much to choose from."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

STARVED = 0.6
CROWDED = 0.30


def starved(case: Case) -> Finding | None:
    """Few instructions per cycle although nothing else is busy: too little independent work."""
    issue = case.value(m.ISSUE)
    if issue is None or issue >= STARVED:
        return None
    return Finding(
        tool=STARVED_TOOL.name,
        axis="latency",
        strength=0.7 * strength(issue, STARVED, 0.1),
        evidence=(Evidence(metric=m.ISSUE, value=issue, threshold=STARVED),),
        advice=(
            f"A scheduler issues in {issue:.0%} of the cycles and no unit is busy: there is too "
            "little independent work in flight. Let each thread work on several elements at once "
            "with separate accumulators, unroll, and use enough warps per multiprocessor."
        ),
        methods=("latency.work_per_thread", "compute.loop_unrolling", "latency.block_size"),
    )


def crowded(case: Case) -> Finding | None:
    """Many warps ready and only one can issue: occupancy can be traded for work per thread."""
    share = case.stall_share(m.STALL_NOT_SELECTED)
    if share is None or share <= CROWDED:
        return None
    return Finding(
        tool=CROWDED_TOOL.name,
        axis="compute",
        strength=0.5 * strength(share, CROWDED, 0.6),
        evidence=(
            Evidence(
                metric="share of warp latency in not_selected",
                value=round(share, 3),
                threshold=CROWDED,
            ),
        ),
        advice=(
            f"Warps are ready but not chosen for {share:.0%} of their time: there are more than "
            "enough. Spend registers on larger tiles per thread; each instruction saved counts."
        ),
        methods=("compute.register_tiling", "latency.work_per_thread"),
    )


STARVED_TOOL = Tool(
    name="starved_schedulers", level="kernel", affinity=frozenset({"latency"}), judge=starved
)
CROWDED_TOOL = Tool(
    name="crowded_schedulers",
    level="kernel",
    affinity=frozenset({"compute", "mixed"}),
    judge=crowded,
)
