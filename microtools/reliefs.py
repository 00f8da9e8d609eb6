"""What following each tool's advice leaves of a kernel's work: the assumptions behind its gain.

They are of a repair that is done well, and were set on the clinic's tuning half, never on what is
held out: `rooftree clinic` says how far predictions and repaired twins are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from mcts.domain import metrics as m
from mcts.microtool.kernel_context import KernelContext
from mcts.microtool.relief import Relief
from microtools.global_accesses import global_accesses
from microtools.trigonometry import SLOW_PATH, slow_path_share

_GLOBAL_WAITS = (m.STALL_LONG_SCOREBOARD, m.STALL_LG_THROTTLE, m.STALL_DRAIN)
_SHARED_WAITS = (m.STALL_SHORT_SCOREBOARD, m.STALL_MIO_THROTTLE)
_LANES = (m.FMA_PIPE, m.ALU_PIPE, m.LSU_PIPE, m.XU_PIPE, m.FP64_PIPE, m.ADU_PIPE)
_WIDEST = 128
_LEAST_LEFT = 0.05
_ATOMICS_LEFT = 0.03
_ENOUGH_OCCUPANCY = 0.5
_TAIL_REMOVED = 0.75


def _each(names: Iterable[str], left: float) -> dict[str, float]:
    return dict.fromkeys(names, left)


def _least_traffic(context: KernelContext) -> float | None:
    """The task's least bytes over what DRAM moved; None if either is unknown."""
    moved = context.values(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES)
    if moved is None or sum(moved) <= 0 or context.least_bytes is None or not context.only_kernel:
        return None
    return min(1.0, context.least_bytes / sum(moved))


def _fewer_sectors(context: KernelContext) -> Relief | None:
    found = list(global_accesses(context))
    if not found:
        return None
    left = 1 - sum(accesses.wasted_share for accesses in found)
    least = _least_traffic(context)
    work = _each((m.L1, m.L2, m.LSU_PIPE), left) | {m.DRAM: max(least or left, left)}
    return Relief(work, _each((*_GLOBAL_WAITS, *_SHARED_WAITS), left))


def _wider(context: KernelContext) -> Relief | None:
    """A fully used access of 128 bits in place of narrow ones."""
    widths = [accesses.widest for accesses in global_accesses(context)]
    if not widths:
        return None
    left = min(widths) / _WIDEST
    waits = _each((*_GLOBAL_WAITS, m.STALL_MIO_THROTTLE), min(1.0, max(2 * left, 0.15)))
    issued = 0.5 if min(widths) < 32 else 0.7
    return Relief({m.LSU_PIPE: left, m.L1: 0.5, m.ISSUE: issued, m.ALU_PIPE: 0.6}, waits)


def _least_bytes(context: KernelContext) -> Relief:
    left = _least_traffic(context) or 0.5
    return Relief({m.DRAM: left, m.L2: max(left, 0.5)}, _each(_GLOBAL_WAITS, left))


def _without_spills(context: KernelContext) -> Relief | None:
    """The part of the accesses that is not to local memory, and the instructions around them."""
    spilled = sum(context.known(m.LOCAL_LOADS, m.LOCAL_STORES).values())
    others = sum(context.known(m.LOAD_REQUESTS, m.STORE_REQUESTS).values())
    if spilled <= 0:
        return None
    left = max(_LEAST_LEFT, others / (others + spilled))
    work = _each((m.L1, m.L2, m.LSU_PIPE, m.DRAM), left) | {m.ISSUE: 0.6}
    return Relief(work, _each((*_GLOBAL_WAITS, *_SHARED_WAITS), left))


def _without_conflicts(context: KernelContext) -> Relief | None:
    wavefronts = sum(context.known(m.SHARED_WAVEFRONTS_LOAD, m.SHARED_WAVEFRONTS_STORE).values())
    conflicts = sum(context.known(m.BANK_CONFLICTS_LOAD, m.BANK_CONFLICTS_STORE).values())
    if wavefronts <= 0:
        return None
    left = max(_LEAST_LEFT, 1 - conflicts / wavefronts)
    return Relief(_each((m.SHARED, m.L1), left), _each(_SHARED_WAITS, left))


def _all_lanes(metric: str) -> Callable[[KernelContext], Relief | None]:
    """All lanes of a warp at work, of which `metric` counts those that are."""

    def relief(context: KernelContext) -> Relief | None:
        lanes = context.value(metric)
        if lanes is None or lanes <= 0:
            return None
        left = max(_LEAST_LEFT, min(1.0, lanes / 32))
        return Relief(_each((*_LANES, m.ISSUE), left))

    return relief


def _more_resident(context: KernelContext) -> Relief | None:
    theoretical = context.value(m.THEORETICAL_OCCUPANCY)
    if theoretical is None:
        return None
    occupancy = max(_LEAST_LEFT, theoretical / 100)
    return Relief(parallel=occupancy / min(1.0, max(_ENOUGH_OCCUPANCY, 2 * occupancy)))


def _all_active(context: KernelContext) -> Relief | None:
    known = context.values(m.THEORETICAL_OCCUPANCY, m.ACHIEVED_OCCUPANCY)
    if known is None or known[0] <= 0:
        return None
    return Relief(parallel=max(_LEAST_LEFT, min(1.0, known[1] / known[0])))


def _larger_grid(context: KernelContext) -> Relief | None:
    counts = context.values(m.GRID, m.MULTIPROCESSORS)
    if counts is None or counts[1] <= 0:
        return None
    return Relief(parallel=max(_LEAST_LEFT, min(0.7, counts[0] / counts[1])))


def _whole_waves(context: KernelContext) -> Relief | None:
    """Smaller blocks, or a persistent grid, have an end of their own that is not even."""
    waves = context.value(m.WAVES)
    if not waves or waves < 1:
        return None
    return Relief(span=1 - _TAIL_REMOVED * (1 - waves / math.ceil(waves)))


def _full_blocks(context: KernelContext) -> Relief | None:
    """No lane empty, and as many warps as a multiprocessor holds where blocks are its limit."""
    block = context.value(m.BLOCK)
    if block is None or block < 1:
        return None
    warps = math.ceil(block / 32)
    lanes = block / (32 * warps)
    held = min(1.0, (context.value(m.LIMIT_BLOCKS) or 32.0) * warps / 64)
    return Relief(_each((*_LANES, m.ISSUE), lanes), parallel=min(lanes, held))


def _simpler_integers(context: KernelContext) -> Relief:
    """By a cheaper index or divisor; of trigonometry's slow path nearly nothing is left."""
    if slow_path_share(context) >= SLOW_PATH:
        work = _each((m.ALU_PIPE, m.ISSUE, m.L1, m.L2, m.LSU_PIPE), 0.2) | {m.FMA_PIPE: 0.5}
        return Relief(work, _each((*_GLOBAL_WAITS, *_SHARED_WAITS), 0.2))
    waits = _each((*_SHARED_WAITS, m.STALL_LONG_SCOREBOARD), 0.6)
    return Relief(_each((m.ALU_PIPE, m.FMA_PIPE, m.ISSUE, m.XU_PIPE), 0.45), waits)


def _fixed(
    work: Mapping[str, float] | None = None, waits: Mapping[str, float] | None = None
) -> Callable[[KernelContext], Relief]:
    relief = Relief(work or {}, waits or {})
    return lambda _context: relief


RELIEFS: Mapping[str, Callable[[KernelContext], Relief | None]] = {
    "coalescing": _fewer_sectors,
    "misaligned_access": _fewer_sectors,
    "narrow_access": _wider,
    "excess_traffic": _least_bytes,
    "cache_thrash": _least_bytes,
    "bank_conflicts": _without_conflicts,
    "divergence": _all_lanes(m.THREADS_PER_INSTRUCTION),
    "predication": _all_lanes(m.ACTIVE_THREADS_PER_INSTRUCTION),
    "occupancy_limiter": _more_resident,
    "occupancy_shortfall": _all_active,
    "small_grid": _larger_grid,
    "tail_wave": _whole_waves,
    "block_shape": _full_blocks,
    "starved_schedulers": lambda _context: Relief(parallel=0.6),
    "missing_reuse": _fixed(
        _each((m.L1, m.L2, m.LSU_PIPE), 0.25) | {m.ISSUE: 0.4, m.ALU_PIPE: 0.35},
        _each(_GLOBAL_WAITS, 0.25) | _each(_SHARED_WAITS, 0.5),
    ),
    "shared_saturated": _fixed(
        _each((m.SHARED, m.L1, m.LSU_PIPE), 0.3) | _each((m.ISSUE, m.ALU_PIPE, m.ADU_PIPE), 0.5),
        _each((*_SHARED_WAITS, m.STALL_LONG_SCOREBOARD), 0.3),
    ),
    "register_spills": _without_spills,
    "barrier_stalls": _fixed(
        _each((m.SHARED, m.L1, m.LSU_PIPE, m.ADU_PIPE), 0.25) | _each((m.ISSUE, m.ALU_PIPE), 0.4),
        {m.STALL_BARRIER: 0.1} | _each(_SHARED_WAITS, 0.3),
    ),
    "shared_latency": _fixed(waits=_each(_SHARED_WAITS, 0.3)),
    "global_latency": _fixed(waits={m.STALL_LONG_SCOREBOARD: 0.3}),
    "load_queue": _fixed(
        _each((m.LSU_PIPE, m.L1), 0.4) | {m.ISSUE: 0.7},
        {m.STALL_LG_THROTTLE: 0.2, m.STALL_LONG_SCOREBOARD: 0.6},
    ),
    "write_drain": _fixed(waits=_each((m.STALL_DRAIN, m.STALL_MEMBAR), 0.2)),
    "async_copy": _fixed(waits={m.STALL_LONG_SCOREBOARD: 0.1, m.STALL_BARRIER: 0.3}),
    "special_functions": _fixed({m.XU_PIPE: 0.35}, _each((m.STALL_MATH, *_SHARED_WAITS), 0.4)),
    "conversions": _fixed(
        {m.XU_PIPE: 0.2, m.ISSUE: 0.8}, _each((m.STALL_MATH, *_SHARED_WAITS), 0.3)
    ),
    "integer_arithmetic": _simpler_integers,
    "stray_doubles": _fixed(
        {m.FP64_PIPE: 0.0} | _each((m.XU_PIPE, m.ISSUE, m.ALU_PIPE), 0.5),
        _each((m.STALL_MATH, *_SHARED_WAITS, m.STALL_DISPATCH, m.STALL_WAIT), 0.3),
    ),
    "tensor_cores": _fixed(
        _each((m.FMA_PIPE, m.ISSUE, m.LSU_PIPE, m.L1, m.SHARED, m.ALU_PIPE), 0.12),
        _each((*_GLOBAL_WAITS, *_SHARED_WAITS, m.STALL_BARRIER, m.STALL_MATH, m.STALL_WAIT), 0.2),
    ),
    "unfused_arithmetic": _fixed(_each((m.FMA_PIPE, m.ISSUE), 0.55)),
    "fma_share": _fixed(_each((m.FMA_PIPE, m.ISSUE), 0.55)),
    "rolled_loops": _fixed(
        _each((m.ISSUE, m.ALU_PIPE), 0.6), _each((m.STALL_LONG_SCOREBOARD,), 0.55)
    ),
    "dependent_instructions": _fixed(
        waits=_each((m.STALL_WAIT, m.STALL_DISPATCH, m.STALL_SHORT_SCOREBOARD), 0.35)
    ),
    "control_flow": _fixed(
        {m.ADU_PIPE: 0.3},
        _each((m.STALL_BRANCH, m.STALL_IMC_MISS, m.STALL_NO_INSTRUCTION), 0.3),
    ),
    "crowded_schedulers": _fixed(_each((m.ISSUE, m.ALU_PIPE), 0.7)),
    "atomic_contention": _fixed(
        _each((m.L2_ATOMIC_UNIT, m.L2, m.L1, m.LSU_PIPE, m.SHARED), _LEAST_LEFT),
        _each((*_GLOBAL_WAITS, *_SHARED_WAITS, m.STALL_MEMBAR), _ATOMICS_LEFT),
    ),
}
"""By the tool's name. None for those whose repair no counter foretells, as of `dram_saturated`."""
