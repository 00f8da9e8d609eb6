"""Several streams, yet their kernels run one after the other."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import ANY, Case, Tool, strength

OVERLAP = 0.10
LEAST_KERNELS = 4
FULL_GRID = 1.0


def judge(case: Case) -> Finding | None:
    """Silent where one kernel fills the device: nothing could then run beside it."""
    seen = case.timeline
    if seen is None or seen.streams < 2 or seen.kernels < LEAST_KERNELS or seen.busy_us <= 0:
        return None
    overlap = seen.overlapped_us / seen.busy_us
    if overlap >= OVERLAP or _fills_the_device(case):
        return None
    return Finding(
        tool=TOOL.name,
        axis="latency",
        strength=0.8 * strength(overlap, OVERLAP, 0.0),
        evidence=(
            Evidence(
                metric="share of the busy time in which kernels overlap",
                value=round(overlap, 3),
                threshold=OVERLAP,
            ),
            Evidence(metric="streams that run kernels", value=seen.streams, threshold=2),
        ),
        advice=(
            f"Kernels run in {seen.streams} streams, but overlap for only {overlap:.0%} of the "
            "time. Look for what serialises them: launches in the default stream (create the "
            "others with cudaStreamNonBlocking), cudaMalloc, cudaFree or copies from pageable "
            "memory between them, or a wait of the host after each. Small kernels that belong "
            "together may as well become one grid."
        ),
        methods=("latency.fewer_launches", "latency.persistent_grid"),
    )


def _fills_the_device(case: Case) -> bool:
    waves = case.value(m.WAVES)
    return case.busy or (waves is not None and waves >= FULL_GRID)


TOOL = Tool(
    name="stream_serialisation",
    level="system",
    affinity=ANY,
    judge=judge,
    symptom_of=frozenset({"allocations_in_loop", "host_synchronisation", "pageable_copies"}),
)
