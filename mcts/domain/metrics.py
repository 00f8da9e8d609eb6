"""Names of hardware counters, as Nsight Compute spells them: the one table.

The collector asks for these, the roofline and the micro-tools read them. A counter collected under
one name and read under another makes a check that can never be true, so nobody spells a name
anywhere else; a test holds that every name collected is read and every name read is collected.
Checked against a GH100 report (Nsight Compute 2025.3).
"""

from __future__ import annotations

# Throughputs, % of what the unit could sustain over the kernel's duration.
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
"""The busiest of L1, L2 and DRAM: a high value here says nothing about DRAM."""
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"

# Time and traffic.
DURATION = "gpu__time_duration.sum"
DRAM_READ_BYTES = "dram__bytes_read.sum"
DRAM_WRITE_BYTES = "dram__bytes_write.sum"
L2_SECTORS = "lts__t_sectors.sum"
L2_HIT = "lts__t_sector_hit_rate.pct"
L1_HIT = "l1tex__t_sector_hit_rate.pct"
SECTOR_BYTES = 32
"""Bytes of a sector, the unit in which caches and memory move data."""

# Global accesses. A warp's fully used 32-bit access is one request of four sectors.
LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
LOAD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
STORE_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"

# Bytes that lanes really use of each sector: 32 if accesses are coalesced and aligned.
LOAD_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
STORE_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"

# Local memory: spilled registers and arrays indexed by variables; warp instructions.
LOCAL_LOADS = "smsp__sass_inst_executed_op_local_ld.sum"
LOCAL_STORES = "smsp__sass_inst_executed_op_local_st.sum"

# Atomics: warp requests, and how busy the atomic units of L2 are.
ATOMIC_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"
REDUCTION_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"
SHARED_ATOMICS = "smsp__inst_executed_op_shared_atom.sum"
L2_ATOMIC_UNIT = "lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"

# Shared memory.
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
BANK_CONFLICTS_LOAD = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
BANK_CONFLICTS_STORE = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
SHARED_WAVEFRONTS_LOAD = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_WAVEFRONTS_STORE = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"

# Occupancy, % of the warps a multiprocessor can hold; limits in blocks per multiprocessor.
ACHIEVED_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
THEORETICAL_OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
LIMIT_REGISTERS = "launch__occupancy_limit_registers"
LIMIT_SHARED = "launch__occupancy_limit_shared_mem"
LIMIT_WARPS = "launch__occupancy_limit_warps"
LIMIT_BLOCKS = "launch__occupancy_limit_blocks"
LIMIT_BARRIERS = "launch__occupancy_limit_barriers"
SHARED_PER_BLOCK = "launch__shared_mem_per_block"
REGISTERS = "launch__registers_per_thread"
WAVES = "launch__waves_per_multiprocessor"
GRID = "launch__grid_size"
BLOCK = "launch__block_size"
MULTIPROCESSORS = "launch__sm_count"

# Issue: 1.0 would be an instruction in every cycle of every scheduler.
ISSUE = "smsp__issue_active.avg.per_cycle_active"
INSTRUCTIONS = "smsp__inst_executed.sum"
THREADS_PER_INSTRUCTION = "smsp__thread_inst_executed_per_inst_executed.ratio"
ACTIVE_THREADS_PER_INSTRUCTION = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
"""Lanes that are neither inactive nor predicated off."""
UNIFORM_BRANCHES = "smsp__sass_average_branch_targets_threads_uniform.pct"
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
FADD = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
FMUL = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"
FMA_PIPE = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
ADU_PIPE = "sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_active"
"""The address divergence unit: branches, barriers and constants read through an index."""
ALU_PIPE = "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"
FP64_PIPE = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active"
LSU_PIPE = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"
XU_PIPE = "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"
TENSOR_PIPE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"

# Warp latency in cycles per issued instruction, and its parts by the reason of the stall.
WARP_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALL_LONG_SCOREBOARD = _STALL.format("long_scoreboard")
STALL_SHORT_SCOREBOARD = _STALL.format("short_scoreboard")
STALL_BARRIER = _STALL.format("barrier")
STALL_WAIT = _STALL.format("wait")
STALL_MATH = _STALL.format("math_pipe_throttle")
STALL_LG_THROTTLE = _STALL.format("lg_throttle")
STALL_MIO_THROTTLE = _STALL.format("mio_throttle")
STALL_NOT_SELECTED = _STALL.format("not_selected")
STALL_BRANCH = _STALL.format("branch_resolving")
STALL_DRAIN = _STALL.format("drain")
STALL_DISPATCH = _STALL.format("dispatch_stall")
STALL_NO_INSTRUCTION = _STALL.format("no_instruction")
STALL_MEMBAR = _STALL.format("membar")
STALL_GMMA = _STALL.format("gmma")
STALL_IMC_MISS = _STALL.format("imc_miss")
