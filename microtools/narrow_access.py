"""Many small loads where few wide ones would keep more bytes in flight."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import DRAM_FULL, Case, Tool, strength

NARROW_SHARE = 0.5


def judge(case: Case) -> Finding | None:
    if case.sass is None:
        return None
    accesses = {"load": case.sass.global_loads, "store": case.sass.global_stores}
    shares = {
        side: sum(count for bits, count in widths.items() if int(bits) <= 32) / total
        for side, widths in accesses.items()
        if (total := sum(widths.values()))
    }
    if not shares:
        return None
    side = max(shares, key=lambda name: shares[name])
    if shares[side] < NARROW_SHARE:
        return None
    dram = case.value(m.DRAM)
    evidence = [
        Evidence(
            metric=f"share of global {side} instructions of 32 bits or less",
            value=round(shares[side], 3),
            threshold=NARROW_SHARE,
        )
    ]
    if dram is not None:
        evidence.append(Evidence(metric=m.DRAM, value=dram, threshold=DRAM_FULL, unit="%"))
    return Finding(
        tool=TOOL.name,
        axis="memory",
        strength=(0.3 if case.saturated else 0.9) * strength(shares[side], NARROW_SHARE, 1.0),
        evidence=tuple(evidence),
        advice=(
            f"{shares[side]:.0%} of the global {side} instructions move 32 bits per lane or less. "
            "Let each thread handle 4 consecutive floats through one float4 access (LDG.128 / "
            "STG.128): a quarter of the instructions and address arithmetic, and four times the "
            "bytes in flight per request. The address must be 16-byte aligned and the row length a "
            "multiple of 4; handle the rest in a scalar tail."
        ),
        methods=("memory.vectorized_loads",),
    )


TOOL = Tool(
    name="narrow_access",
    level="instruction",
    affinity=frozenset({"memory", "latency", "mixed"}),
    judge=judge,
)
