"""The slow path of `sinf`, `cosf`, `tanf` and `sincosf`: what they do for large arguments.

Beyond some 1e5 the argument is reduced by as many digits of 2 / pi as it takes: integer products in
a loop of six trips, with seven words in local memory, and one step in double precision. The code
always holds it; whether it runs is told by counters of local accesses alone.
"""

from __future__ import annotations

from mcts.domain import SassFacts
from mcts.domain import metrics as m
from mcts.microtool.kernel_context import KernelContext

STACK_BYTES = 32
"""Local memory of the slow path, whatever calls it."""
SLOW_PATH, SLOW_PATH_ALWAYS = 0.01, 0.05
"""Local accesses as a share of the executed instructions: from where the slow path counts, and
about where it runs for every argument."""
_OPCODES = frozenset({"DMUL", "F2F.F32.F64", "I2F.F64.S64"})


def holds_slow_path(sass: SassFacts) -> bool:
    """Whether the code can reduce large arguments."""
    return sass.local_loads > 0 and _OPCODES.issubset(sass.opcodes)


def owns_local_memory(sass: SassFacts) -> bool:
    """Whether nothing but the slow path uses local memory."""
    if sass.stack_bytes is None:  # three loads and two stores for each call
        return holds_slow_path(sass) and 2 * sass.local_loads == 3 * sass.local_stores
    return holds_slow_path(sass) and sass.stack_bytes <= STACK_BYTES


def local_share(context: KernelContext) -> float | None:
    """Local accesses as a share of the executed warp instructions; None if not counted."""
    counts = context.values(m.LOCAL_LOADS, m.LOCAL_STORES, m.INSTRUCTIONS)
    return (counts[0] + counts[1]) / counts[2] if counts and counts[2] > 0 else None


def slow_path_share(context: KernelContext) -> float:
    """Local accesses of the slow path as a share of the executed instructions.

    0 if it was not seen to run.
    """
    if context.sass is None or not owns_local_memory(context.sass):
        return 0.0
    return local_share(context) or 0.0
