"""What machine code alone says of the units that its hot loops fill, where nothing was counted."""

from __future__ import annotations

from mcts.domain import InstructionKind
from mcts.microtool.kernel_context import KernelContext

XU_CYCLES = 8
"""Cycles of a scheduler for an instruction of the special-function unit, conversions among them:
16 results per cycle and multiprocessor (CUDA C++ programming guide, throughput of arithmetic
instructions)."""
MOST_STRENGTH = 0.6
"""Strength of what no counter confirms, at most."""


def cycles_over_issue(context: KernelContext, kind: InstructionKind) -> float | None:
    """Cycles that instructions of a kind take in the hot code, over those of issuing all of it.

    None where counters say more, or there is no code.
    """
    if context.kernel.metrics or context.sass is None:
        return None
    mix = context.sass.hot_mix
    total = sum(mix.values())
    return XU_CYCLES * mix.get(kind, 0) / total if total else None
