"""The bandwidth of shared memory is the limit."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import RUNNING, KernelContext, Tool, percent, strength, where

THRESHOLD = 65.0


def judge(context: KernelContext) -> Finding | None:
    """Silent if an arithmetic pipe or DRAM is busier: shared memory then keeps up."""
    busy = context.value(m.SHARED)
    if busy is None or busy < THRESHOLD:
        return None
    others = [
        context.busiest_pipe[1] if context.busiest_pipe else 0.0,
        context.value(m.DRAM) or 0.0,
    ]
    if max(others) >= busy:
        return None
    lines = context.lines("shared_loads", "shared_stores")
    narrow = context.sass is not None and not context.sass.shared_loads.get("128")
    wider = "read shared memory 128 bits at a time, and " if narrow else ""
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=strength(busy, THRESHOLD, 95.0),
        evidence=(percent(m.SHARED, busy, THRESHOLD), *_per_fma(context)),
        advice=(
            f"Shared memory is {busy:.0f} % busy and the arithmetic waits for it{where(lines)}. "
            f"Use each value read from it more often: {wider}let each thread hold a larger block "
            "of outputs in registers (an 8 x 8 block reads 16 values for 64 multiply-adds), pass "
            "values between lanes by shuffles, and keep in registers what one thread alone uses."
        ),
        methods=("compute.register_tiling", "memory.register_reuse", "compute.warp_primitives"),
    )


def _per_fma(context: KernelContext) -> list[Evidence]:
    counts = context.values(m.FFMA, m.SHARED_WAVEFRONTS_LOAD)
    if counts is None or min(counts) <= 0:
        return []
    ratio = counts[1] / (counts[0] / 32)
    if ratio < 0.25:
        return []
    return [
        Evidence(
            metric="shared-memory load wavefronts per warp multiply-add",
            value=round(ratio, 2),
            threshold=0.25,
        )
    ]


TOOL = Tool(
    name="shared_saturated",
    level="kernel",
    affinity=RUNNING,
    order=150,
    judge=judge,
    symptom_of=frozenset({"bank_conflicts", "atomic_contention", "tensor_cores"}),
)
