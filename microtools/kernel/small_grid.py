"""The grid is less than one wave of blocks: multiprocessors stay empty."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, KernelContext, Tool, strength

ALL_AT_WORK = 0.5
"""Weight if every multiprocessor has a block: more work per warp would then help as well."""
NEARLY_ALL = 0.9


def judge(context: KernelContext) -> Finding | None:
    """Silent if a unit is busy anyway, as under a persistent grid."""
    waves = context.value(m.WAVES)
    if waves is None or waves >= 1 or context.busy or context.warp_specialised:
        return None
    counts = context.values(m.GRID, m.MULTIPROCESSORS)
    counted, weight = "", 1.0
    if counts is not None and min(counts) > 0:
        blocks, multiprocessors = counts
        counted = f"{blocks:.0f} blocks on {multiprocessors:.0f} multiprocessors. "
        weight = 1.0 if blocks < NEARLY_ALL * multiprocessors else ALL_AT_WORK
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=weight * strength(waves, 1.0, 0.25),
        evidence=(Evidence(metric=m.WAVES, value=waves, threshold=1),),
        advice=(
            f"The grid fills only {waves:.0%} of one wave. {counted}Expose more parallelism: "
            "smaller tiles or fewer elements per thread, or split the reduction dimension over "
            "blocks and combine the parts."
        ),
        methods=("parallelism.split_k", "latency.block_size", "latency.work_per_thread"),
    )


TOOL = Tool(name="small_grid", level="kernel", affinity=ANY, order=50, judge=judge)
