"""Registers that did not fit and went through local memory."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from microtools.tool import ANY, Case, Tool, strength

LOUD_SHARE = 0.10


def judge(case: Case) -> Finding | None:
    sass = case.sass
    if sass is None or sass.instructions == 0:
        return None
    spilled = sass.local_loads + sass.local_stores
    if spilled == 0:
        return None
    share = spilled / sass.instructions
    registers = f" at {sass.registers} registers per thread" if sass.registers else ""
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=strength(share, 0.0, LOUD_SHARE),
        evidence=(
            Evidence(metric="local loads and stores in the code", value=spilled, threshold=0),
            Evidence(metric="local bytes per thread", value=sass.stack_bytes or 0, threshold=0),
        ),
        advice=(
            f"The code holds {spilled} local-memory accesses ({share:.0%} of its instructions)"
            f"{registers}: values spill, or an array is indexed with a variable. Unroll the loops "
            "that index per-thread arrays so that every index is a constant; shrink the per-thread "
            "tile; relax a __launch_bounds__ that asks for too many blocks."
        ),
        methods=("latency.launch_bounds", "compute.register_tiling", "compute.loop_unrolling"),
    )


TOOL = Tool(name="register_spills", level="instruction", affinity=ANY, judge=judge)
