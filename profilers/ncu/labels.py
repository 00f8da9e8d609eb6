"""Which of our metrics a row of ncu's details page shows, by section and label.

As the section files of Nsight Compute define them. Labels that show something else are left out,
also where they sound alike: "L1/TEX Cache Throughput" is a share of the peak while active, ours
one of the elapsed time; "Memory Throughput" of the memory section is in byte/s; shared memory per
block is split in three.
"""

from __future__ import annotations

from mcts.domain import metrics as m

_LIGHT, _MEMORY = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
_WARPS, _LAUNCH, _OCCUPANCY = "Warp State Statistics", "Launch Statistics", "Occupancy"

LABELS: dict[tuple[str, str], str] = {
    (_LIGHT, "Compute (SM) Throughput"): m.SM,
    (_LIGHT, "Memory Throughput"): m.MEMORY,
    (_LIGHT, "DRAM Throughput"): m.DRAM,
    (_LIGHT, "L2 Cache Throughput"): m.L2,
    (_LIGHT, "Duration"): m.DURATION,
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
