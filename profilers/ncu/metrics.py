"""Which metrics one profiling run collects, and under which labels ncu's details page shows them.

They are few enough for a handful of replay passes; `--set full` takes 2,238 columns and dozens.
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
"""All counters that one profiling run collects."""

_SPEED_OF_LIGHT, _MEMORY = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
_WARPS, _LAUNCH, _OCCUPANCY = "Warp State Statistics", "Launch Statistics", "Occupancy"

LABELS: dict[tuple[str, str], str] = {
    (_SPEED_OF_LIGHT, "Compute (SM) Throughput"): m.SM,
    (_SPEED_OF_LIGHT, "Memory Throughput"): m.MEMORY,
    (_SPEED_OF_LIGHT, "DRAM Throughput"): m.DRAM,
    (_SPEED_OF_LIGHT, "L2 Cache Throughput"): m.L2,
    (_SPEED_OF_LIGHT, "Duration"): m.DURATION,
    (_MEMORY, "L1/TEX Hit Rate"): m.L1_HIT,
    (_MEMORY, "L2 Hit Rate"): m.L2_HIT,
    ("Scheduler Statistics", "Issued Warp Per Scheduler"): m.ISSUE,
    (_WARPS, "Warp Cycles Per Issued Instruction"): m.WARP_LATENCY,
    (_WARPS, "Avg. Active Threads Per Warp"): m.THREADS_PER_INSTRUCTION,
    (_WARPS, "Avg. Not Predicated Off Threads Per Warp"): m.ACTIVE_THREADS_PER_INSTRUCTION,
    ("Instruction Statistics", "Executed Instructions"): m.INSTRUCTIONS,
    (_LAUNCH, "Block Size"): m.BLOCK,
    (_LAUNCH, "Grid Size"): m.GRID,
    (_LAUNCH, "Registers Per Thread"): m.REGISTERS,
    (_LAUNCH, "# SMs"): m.MULTIPROCESSORS,
    (_LAUNCH, "Waves Per SM"): m.WAVES,
    (_OCCUPANCY, "Block Limit Barriers"): m.LIMIT_BARRIERS,
    (_OCCUPANCY, "Block Limit SM"): m.LIMIT_BLOCKS,
    (_OCCUPANCY, "Block Limit Registers"): m.LIMIT_REGISTERS,
    (_OCCUPANCY, "Block Limit Shared Mem"): m.LIMIT_SHARED,
    (_OCCUPANCY, "Block Limit Warps"): m.LIMIT_WARPS,
    (_OCCUPANCY, "Theoretical Occupancy"): m.THEORETICAL_OCCUPANCY,
    (_OCCUPANCY, "Achieved Occupancy"): m.ACHIEVED_OCCUPANCY,
    ("Source Counters", "Branch Efficiency"): m.UNIFORM_BRANCHES,
}
"""Metrics by section and label of the details page, as the section files of Nsight Compute define
them.

Labels of other metrics are left out, also if they sound alike: "L1/TEX Cache Throughput" is in % of
the peak while active, `metrics.L1` in % of the peak over the elapsed time; "Memory Throughput" of
the memory section is in byte/s; shared memory per block is split into three rows.
"""
