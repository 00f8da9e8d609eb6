"""Matrix work in a type that the tensor cores take, computed without them."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength

TENSOR_IDLE = 5.0
INTENSE = 16.0
_TYPES = ("tf32", "fp16", "bf16")


def judge(context: KernelContext) -> Finding | None:
    """Without counters, code that holds no matrix instruction says the same."""
    work = context.work
    intensity = context.intensity or 0.0
    if work is None or work.math not in _TYPES or intensity < INTENSE:
        return None
    active = context.value(m.TENSOR_PIPE)
    seen: Evidence | None = None
    if active is not None:
        seen = percent(m.TENSOR_PIPE, active, TENSOR_IDLE) if active <= TENSOR_IDLE else None
    elif context.sass is not None and not context.sass.tensor_ops:
        seen = Evidence(metric="matrix instructions in the code", value=0, threshold=1)
    if seen is None:
        return None
    return Finding(
        tool=TOOL.name,
        axis="compute",
        lines=context.hot_lines,
        strength=strength(intensity, INTENSE / 4, 4 * INTENSE),
        evidence=(
            seen,
            Evidence(
                metric="operations per least byte", value=round(intensity, 1), threshold=INTENSE
            ),
        ),
        advice=(
            f"The task is matrix-like in {work.math}, yet the tensor cores do nothing. Compute the "
            "product with mma (wmma or mma.sync; wgmma on Hopper) on tiles staged in shared "
            "memory, accumulating in fp32."
        ),
        methods=("compute.tensor_cores", "memory.shared_tiling"),
    )


TOOL = Tool(name="tensor_cores", level="kernel", affinity=RUNNING, order=10, judge=judge)
