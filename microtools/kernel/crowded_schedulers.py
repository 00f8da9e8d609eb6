"""Far more warps are ready than can issue: occupancy can be traded for work per thread."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import PIPE_FULL, KernelContext, Tool, strength

CROWDED = 0.30
LEAST_ISSUE = 0.6
ENOUGH_WARPS = 40.0
ROOMY = 96


def judge(context: KernelContext) -> Finding | None:
    """Silent if the multiply-adds themselves fill the issue slots, or no registers are left."""
    share = context.stall_share(m.STALL_NOT_SELECTED)
    issue = context.value(m.ISSUE)
    if share is None or share <= CROWDED or (issue is not None and issue < LEAST_ISSUE):
        return None
    useful = max(context.known(m.FMA_PIPE, m.TENSOR_PIPE, m.FP64_PIPE).values(), default=0.0)
    warps, registers = context.value(m.ACHIEVED_OCCUPANCY), context.value(m.REGISTERS)
    thin = warps is not None and warps < ENOUGH_WARPS
    if useful >= PIPE_FULL or thin or (registers is not None and registers > ROOMY):
        return None
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=context.hot_lines,
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
            "enough, and the number of instructions is what counts. Spend registers on larger "
            "tiles per thread, so that loads and addresses are shared by more results; each "
            "instruction saved counts."
        ),
        methods=("compute.register_tiling", "latency.work_per_thread"),
    )


TOOL = Tool(
    name="crowded_schedulers",
    level="kernel",
    affinity=frozenset({"compute", "mixed"}),
    order=360,
    judge=judge,
    symptom_of=frozenset(
        {"divergence", "fma_share", "integer_arithmetic", "predication", "unfused_arithmetic"}
    ),
)
