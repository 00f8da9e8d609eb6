"""The caches do the work that registers or a shared tile should do."""

from __future__ import annotations

import math

from mcts.domain import Evidence, Finding
from mcts.domain import metrics as m
from mcts.microtool.tool import REUSING, RUNNING, KernelContext, Tool, percent, strength, where
from microtools.trigonometry import SLOW_PATH, slow_path_share

CACHE_BUSY, CLEARLY_BUSY = 60.0, 65.0
MUCH_REUSE, UNTILED_BUSY = 64.0, 45.0
"""Reuse from which code without any tile is at fault with caches that are only half busy."""
DRAM_IDLE = 50.0
READ_AGAIN = 4.0
OF_SHARED = 0.8
"""Part of L1's use from which shared memory makes it, which `shared_saturated` is about."""
MUCH_REREAD, OF_ADDRESSES = 16.0, 10.0
_HEAVY_PIPES = (m.XU_PIPE, m.FP64_PIPE, m.TENSOR_PIPE)


def judge(context: KernelContext) -> Finding | None:
    """High L1 or L2 with idle DRAM on a task that reuses data: the same values are loaded again.

    Silent if arithmetic is busier than the caches: they then keep up. Silent about the words in
    local memory of trigonometry's slow path.

    Loads that ask for several times what DRAM delivers show the reuse where no cost is declared,
    and where the declared one says nothing of it: neighbours that share a stencil's points.
    """
    if slow_path_share(context) >= SLOW_PATH:
        return None
    busy = _busiest_cache(context)
    dram = context.value(m.DRAM)
    tiled = context.sass is not None and sum(context.sass.shared_loads.values()) > 0
    untiled = context.sass is not None and not tiled
    reuse = _reuse(context)
    least = UNTILED_BUSY if untiled and reuse >= MUCH_REUSE else CACHE_BUSY
    if busy is None or dram is None or busy[1] < least or dram > DRAM_IDLE:
        return None
    if reuse < REUSING or busy[1] < _computing(context):
        return None
    level, percent_busy = busy
    lines = context.lines("shared_loads" if tiled else "global_loads")
    stage = "" if tiled else "stage a tile in shared memory, and "
    return Finding(
        tool=TOOL.name,
        axis="memory",
        lines=lines,
        strength=max(
            strength(percent_busy, CACHE_BUSY, 95.0),
            0.95 * strength(reuse, REUSING, MUCH_REUSE) if untiled else 0.0,
        ),
        evidence=(
            percent(level, percent_busy, least),
            percent(m.DRAM, dram, DRAM_IDLE),
            *_amplified(context),
        ),
        advice=(
            f"The {'load/store path' if level == m.L1 else 'L2 cache'} is {percent_busy:.0f} % "
            f"busy while device memory is {dram:.0f} % busy: the same values are loaded again and "
            f"again{where(lines)}. Raise the arithmetic per load: {stage}let each thread compute a "
            "larger block of outputs (8 x 8 and more for a matrix product) from values it holds in "
            "registers, so that each loaded value is used as often as the block is wide."
        ),
        methods=(
            "compute.register_tiling",
            *(() if tiled else ("memory.shared_tiling",)),
            "memory.register_reuse",
            "memory.vectorized_loads",
        ),
    )


def _busiest_cache(context: KernelContext) -> tuple[str, float] | None:
    """L1 if it is known, unless L2 is known to be busier, or shared memory keeps L1 busy."""
    known = context.known(m.L1, m.L2)
    if (context.value(m.SHARED) or 0.0) >= OF_SHARED * known.get(m.L1, math.inf):
        del known[m.L1]
    return max(known.items(), key=lambda item: item[1], default=None)


def _computing(context: KernelContext) -> float:
    """% of peak that keeps the caches from being the limit.

    What the arithmetic pipes and the issue slots do; of the multiprocessor as a whole, which also
    counts loads and addresses, no more than leaves a cache that is clearly busy to speak. Where
    code without a tile loads everything many times, issue slots go into its loads, and integers
    unless they are clearly busier than the caches.
    """
    if _reread(context) >= MUCH_REREAD:
        integers = (context.value(m.ALU_PIPE) or 0.0) - OF_ADDRESSES
        return max(integers, *context.known(m.FMA_PIPE, *_HEAVY_PIPES).values(), 0.0)
    pipe = context.busiest_pipe[1] if context.busiest_pipe else 0.0
    issuing = 100 * (context.value(m.ISSUE) or 0.0)
    return max(pipe, issuing, min(context.value(m.SM) or 0.0, CLEARLY_BUSY))


def _reuse(context: KernelContext) -> float:
    """How often a value is used: operations per least byte, or loads over what DRAM delivers."""
    if context.intensity is None:
        return _loads_over_dram(context)
    return max(context.intensity, _reread(context))


def _reread(context: KernelContext) -> float:
    """Loads over what DRAM delivers, of code without a tile; 0 otherwise."""
    if context.sass is None or context.sass.shared_loads:
        return 0.0
    return _loads_over_dram(context)


def _loads_over_dram(context: KernelContext) -> float:
    loads = context.values(m.LOAD_SECTORS, m.DRAM_READ_BYTES)
    return loads[0] * m.SECTOR_BYTES / loads[1] if loads and loads[1] > 0 else 0.0


def _amplified(context: KernelContext) -> list[Evidence]:
    sectors = context.value(m.L2_SECTORS)
    if sectors is None or context.least_bytes is None:
        return []
    ratio = sectors * m.SECTOR_BYTES / context.least_bytes
    if ratio < READ_AGAIN:
        return []
    return [
        Evidence(
            metric="bytes through L2 over the task's least bytes",
            value=round(ratio, 1),
            threshold=READ_AGAIN,
        )
    ]


TOOL = Tool(
    name="missing_reuse",
    level="kernel",
    affinity=RUNNING,
    order=70,
    judge=judge,
    symptom_of=frozenset(
        {
            "atomic_contention",
            "bank_conflicts",
            "coalescing",
            "register_spills",
            "shared_saturated",
            "tensor_cores",
        }
    ),
)
