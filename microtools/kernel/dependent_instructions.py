"""Each instruction waits for the one before: dependent chains, too little parallelism."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import BUSY, KernelContext
from microtools.stalls import Remedy, Stall


def _remedy(context: KernelContext) -> Remedy:
    return Remedy(
        "the fixed latencies of arithmetic: each instruction waits for the one before. Give each "
        "thread several independent accumulators or outputs, so that one chain runs while another "
        "waits, and unroll the inner loop",
        ("compute.loop_unrolling", "latency.work_per_thread", "compute.register_tiling"),
        context.hot_lines,
    )


def _weight(context: KernelContext) -> float:
    """Less if a pipe is busy: part of the wait is then a queue, not a dependency."""
    return 0.6 if context.busiest_pipe is not None and context.busiest_pipe[1] >= BUSY else 1.0


TOOL = Stall(
    tool="dependent_instructions",
    reasons=(m.STALL_WAIT, m.STALL_DISPATCH),
    axis="compute",
    remedy=_remedy,
    weight=_weight,
).as_tool(
    order=340,
    symptom_of=frozenset(
        {
            "control_flow",
            "divergence",
            "integer_arithmetic",
            "rolled_loops",
            "small_grid",
            "special_functions",
            "stray_doubles",
            "tensor_cores",
        }
    ),
)
