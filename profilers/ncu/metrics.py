"""What one profiling run collects: few enough counters for a handful of replay passes.

`--set full` takes 2,238 columns and dozens of passes; a search needs these.
"""

from __future__ import annotations

from mcts.domain import metrics as m

THROUGHPUTS = (m.SM, m.MEMORY, m.DRAM, m.L1, m.L2)
TRAFFIC = (m.DURATION, m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.L2_SECTORS, m.L2_HIT, m.L1_HIT)
GLOBAL_ACCESS = (
    m.LOAD_SECTORS,
    m.LOAD_REQUESTS,
    m.STORE_SECTORS,
    m.STORE_REQUESTS,
    m.LOAD_BYTES_PER_SECTOR,
    m.STORE_BYTES_PER_SECTOR,
)
LOCAL_ACCESS = (m.LOCAL_LOADS, m.LOCAL_STORES)
ATOMICS = (m.ATOMIC_REQUESTS, m.REDUCTION_REQUESTS, m.SHARED_ATOMICS, m.L2_ATOMIC_UNIT)
SHARED_ACCESS = (
    m.SHARED,
    m.BANK_CONFLICTS_LOAD,
    m.BANK_CONFLICTS_STORE,
    m.SHARED_WAVEFRONTS_LOAD,
    m.SHARED_WAVEFRONTS_STORE,
)
OCCUPANCY = (
    m.ACHIEVED_OCCUPANCY,
    m.THEORETICAL_OCCUPANCY,
    m.LIMIT_REGISTERS,
    m.LIMIT_SHARED,
    m.LIMIT_WARPS,
    m.LIMIT_BLOCKS,
    m.LIMIT_BARRIERS,
    m.SHARED_PER_BLOCK,
    m.REGISTERS,
    m.WAVES,
    m.GRID,
    m.BLOCK,
    m.MULTIPROCESSORS,
)
ISSUE = (
    m.ISSUE,
    m.INSTRUCTIONS,
    m.THREADS_PER_INSTRUCTION,
    m.ACTIVE_THREADS_PER_INSTRUCTION,
    m.UNIFORM_BRANCHES,
    m.FFMA,
    m.FADD,
    m.FMUL,
    m.FMA_PIPE,
    m.ADU_PIPE,
    m.ALU_PIPE,
    m.FP64_PIPE,
    m.LSU_PIPE,
    m.XU_PIPE,
    m.TENSOR_PIPE,
)
STALLS = (
    m.WARP_LATENCY,
    m.STALL_LONG_SCOREBOARD,
    m.STALL_SHORT_SCOREBOARD,
    m.STALL_BARRIER,
    m.STALL_WAIT,
    m.STALL_MATH,
    m.STALL_LG_THROTTLE,
    m.STALL_MIO_THROTTLE,
    m.STALL_NOT_SELECTED,
    m.STALL_BRANCH,
    m.STALL_DRAIN,
    m.STALL_DISPATCH,
    m.STALL_NO_INSTRUCTION,
    m.STALL_MEMBAR,
    m.STALL_GMMA,
    m.STALL_IMC_MISS,
)
COLLECTED: tuple[str, ...] = (
    *THROUGHPUTS,
    *TRAFFIC,
    *GLOBAL_ACCESS,
    *LOCAL_ACCESS,
    *ATOMICS,
    *SHARED_ACCESS,
    *OCCUPANCY,
    *ISSUE,
    *STALLS,
)
"""Every counter one profiling run asks for."""
