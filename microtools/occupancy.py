"""Too few warps per multiprocessor to hide latency, and what limits them."""

from __future__ import annotations

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, strength

THEORETICAL = 80.0
SHORTFALL = 10.0
BUSY = 60.0
_LIMITS = {
    "registers": m.LIMIT_REGISTERS,
    "shared memory": m.LIMIT_SHARED,
    "block size": m.LIMIT_WARPS,
    "blocks per multiprocessor": m.LIMIT_BLOCKS,
}


def limiter(case: Case) -> Finding | None:
    """Low theoretical occupancy, with the resource that sets it.

    Silent when a unit is already busy: more warps would then only queue for it.
    """
    theoretical = case.value(m.THEORETICAL_OCCUPANCY)
    if theoretical is None or theoretical >= THEORETICAL or _busy(case):
        return None
    limits = {name: v for name, key in _LIMITS.items() if (v := case.value(key)) is not None}
    if not limits:
        return None
    resource, *others = sorted(limits, key=lambda name: limits[name])
    advice, methods = _remedy(case, resource)
    return Finding(
        tool=LIMITER.name,
        axis="latency",
        strength=strength(theoretical, THEORETICAL, 12.5),
        evidence=(
            Evidence(
                metric=m.THEORETICAL_OCCUPANCY, value=theoretical, threshold=THEORETICAL, unit="%"
            ),
            Evidence(
                metric=_LIMITS[resource],
                value=limits[resource],
                threshold=limits[others[0]] if others else limits[resource],
                unit=" blocks",
            ),
        ),
        advice=(
            f"At most {theoretical:.0f} % of the warps a multiprocessor can hold are resident, "
            f"limited by {resource} ({limits[resource]:.0f} blocks), and no unit is busy. {advice}"
        ),
        methods=methods,
    )


def _busy(case: Case) -> bool:
    known = [v for key in (m.SM, m.MEMORY) if (v := case.value(key)) is not None]
    return bool(known) and max(known) >= BUSY


def _remedy(case: Case, resource: str) -> tuple[str, tuple[str, ...]]:
    if resource == "registers":
        registers = case.value(m.REGISTERS)
        used = f"{registers:.0f} registers per thread: " if registers is not None else ""
        return (
            f"{used}declare __launch_bounds__(threads, blocks), keep fewer values per thread, or "
            "shrink the per-thread tile; watch that nothing spills.",
            ("latency.launch_bounds", "latency.work_per_thread"),
        )
    if resource == "shared memory":
        return (
            "Shrink the shared tile or the number of stages, or reuse one buffer for two phases.",
            ("memory.shared_tiling", "latency.block_size"),
        )
    return (
        "Change the block size: 128 to 256 threads usually fill a multiprocessor, while very "
        "small blocks run out of block slots and very large ones do not divide its warps.",
        ("latency.block_size",),
    )


def shortfall(case: Case) -> Finding | None:
    """Achieved well below theoretical occupancy: imbalance, or blocks too short to overlap.

    Silent for a grid of less than one wave, which explains it.
    """
    if (case.value(m.WAVES) or 1.0) < 1.0:
        return None
    known = case.values(m.THEORETICAL_OCCUPANCY, m.ACHIEVED_OCCUPANCY)
    if known is None or known[0] - known[1] <= SHORTFALL or _busy(case):
        return None
    theoretical, achieved = known
    return Finding(
        tool=SHORTFALL_TOOL.name,
        axis="latency",
        strength=strength(theoretical - achieved, SHORTFALL, 60.0),
        evidence=(
            Evidence(
                metric=m.ACHIEVED_OCCUPANCY,
                value=achieved,
                threshold=theoretical - SHORTFALL,
                unit="%",
            ),
        ),
        advice=(
            f"Only {achieved:.0f} % of the warps were active where {theoretical:.0f} % could be: "
            "blocks end at different times or are too short to overlap. Give every block the same "
            "work, choose smaller blocks, or let a persistent grid of a few blocks per "
            "multiprocessor walk over the work."
        ),
        methods=("latency.block_size", "latency.persistent_grid", "latency.work_per_thread"),
    )


LIMITER = Tool(
    name="occupancy_limiter",
    level="kernel",
    affinity=frozenset({"latency", "memory", "mixed"}),
    judge=limiter,
)
SHORTFALL_TOOL = Tool(
    name="occupancy_shortfall",
    level="kernel",
    affinity=frozenset({"latency", "memory", "mixed"}),
    judge=shortfall,
)
