"""Complete profiles of kernels that do well: every counter, as an H200 shows it for such a one.

Nobody may find fault with them; a kernel at its memory's limit may be told that it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcts.domain import BoundClass, Work
from mcts.domain import metrics as m
from tests.microtools.contexts import MATMUL, STREAM, loop, stalls

_STALL_NAMES = (
    "long_scoreboard", "short_scoreboard", "barrier", "wait", "math", "lg_throttle",
    "mio_throttle", "not_selected", "branch", "drain", "dispatch", "no_instruction", "membar",
    "gmma", "imc_miss",
)  # fmt: skip
_ATOMICS = dict.fromkeys(
    (m.ATOMIC_REQUESTS, m.REDUCTION_REQUESTS, m.SHARED_ATOMICS, m.L2_ATOMIC_UNIT), 0.0
)
_LIMITS = {
    m.LIMIT_REGISTERS: 8, m.LIMIT_SHARED: 32, m.LIMIT_WARPS: 8, m.LIMIT_BLOCKS: 32,
    m.LIMIT_BARRIERS: 32, m.SHARED_PER_BLOCK: 1024, m.REGISTERS: 32, m.BLOCK: 256,
    m.MULTIPROCESSORS: 132, m.GRID: 65536, m.WAVES: 62.1,
    m.THEORETICAL_OCCUPANCY: 100, m.ACHIEVED_OCCUPANCY: 88,
}  # fmt: skip
_ISSUE = {
    m.ISSUE: 0.2, m.INSTRUCTIONS: 4e7, m.THREADS_PER_INSTRUCTION: 32,
    m.ACTIVE_THREADS_PER_INSTRUCTION: 30.2, m.UNIFORM_BRANCHES: 0,
    m.FFMA: 6.7e7, m.FADD: 0, m.FMUL: 0,
    m.FMA_PIPE: 5, m.ALU_PIPE: 3, m.ADU_PIPE: 6, m.FP64_PIPE: 0,
    m.LSU_PIPE: 14, m.XU_PIPE: 0, m.TENSOR_PIPE: 0,
}  # fmt: skip
_SHARED = {
    m.SHARED: 0, m.BANK_CONFLICTS_LOAD: 0, m.BANK_CONFLICTS_STORE: 0,
    m.SHARED_WAVEFRONTS_LOAD: 0, m.SHARED_WAVEFRONTS_STORE: 0,
    m.LOCAL_LOADS: 0, m.LOCAL_STORES: 0,
}  # fmt: skip


@dataclass(frozen=True)
class Healthy:
    metrics: Mapping[str, float]
    work: Work
    bound: BoundClass
    sass: Mapping[str, Any]
    says: frozenset[str] = frozenset()


def _stalls(latency: float, **shares: float) -> dict[str, float]:
    return stalls(latency, **{**dict.fromkeys(_STALL_NAMES, 0.0), **shares})


def _accesses(
    *, loads: float, per_load: float, stores: float, per_store: float
) -> dict[str, float]:
    """Fully used sectors."""
    return {
        m.LOAD_REQUESTS: loads, m.LOAD_SECTORS: loads * per_load, m.LOAD_BYTES_PER_SECTOR: 32,
        m.STORE_REQUESTS: stores, m.STORE_SECTORS: stores * per_store, m.STORE_BYTES_PER_SECTOR: 32,
    }  # fmt: skip


def _memory(*, dram: float, sm: float, l1: float, l2: float, read: float, write: float,
            l1_hit: float, l2_hit: float) -> dict[str, float]:  # fmt: skip
    return {
        m.SM: sm, m.MEMORY: max(dram, l1, l2), m.DRAM: dram, m.L1: l1, m.L2: l2,
        m.DURATION: 1.3e5, m.DRAM_READ_BYTES: read, m.DRAM_WRITE_BYTES: write,
        m.L2_SECTORS: 2.6e7, m.L1_HIT: l1_hit, m.L2_HIT: l2_hit,
    }  # fmt: skip


HALF = STREAM.bytes / 2
STREAMING = Healthy(
    metrics={
        **_memory(dram=90, sm=30, l1=25, l2=92, read=HALF, write=0.95 * HALF, l1_hit=0, l2_hit=45),
        **_accesses(loads=1e6, per_load=4, stores=1e6, per_store=4),
        **_ATOMICS, **_LIMITS, **_ISSUE, **_SHARED,
        **_stalls(74, long_scoreboard=0.84, short_scoreboard=0.05, wait=0.05, drain=0.02),
    },
    work=STREAM,
    bound="memory",
    sass={"global_loads": {"32": 1}, "global_stores": {"32": 1},
          "mix": {"memory": 10, "integer": 4, "fp32": 1}},
    says=frozenset({"dram_saturated"}),
)  # fmt: skip
VECTORISED = Healthy(
    metrics={
        **STREAMING.metrics,
        **_accesses(loads=2.6e5, per_load=16, stores=2.6e5, per_store=16),
        m.DRAM: 78,
        m.L2: 82,
        m.MEMORY: 82,
        **_stalls(60, long_scoreboard=0.55, drain=0.06, wait=0.1),
    },
    work=STREAM,
    bound="memory",
    sass={"global_loads": {"128": 2}, "global_stores": {"128": 2}},
    says=frozenset({"global_latency"}),
)
FILL = Healthy(
    metrics={
        **_memory(dram=76, sm=12, l1=30, l2=78, read=1e6, write=STREAM.bytes, l1_hit=0, l2_hit=99),
        **_accesses(loads=0, per_load=0, stores=2e6, per_store=4),
        **_ATOMICS, **_LIMITS, **_ISSUE, **_SHARED,
        m.LOAD_BYTES_PER_SECTOR: 0,
        **_stalls(90, drain=0.45, lg_throttle=0.12, wait=0.05),
    },
    work=STREAM,
    bound="memory",
    sass={"global_stores": {"128": 1}},
)  # fmt: skip
GEMM = Healthy(
    metrics={
        **_memory(dram=2.9, sm=80, l1=53, l2=15, read=2.5e7, write=4e6, l1_hit=13, l2_hit=86),
        **_accesses(loads=8.4e6, per_load=16, stores=1.3e5, per_store=16),
        **_ATOMICS, **_LIMITS, **_ISSUE, **_SHARED,
        m.SHARED: 50, m.SHARED_WAVEFRONTS_LOAD: 2.7e8, m.BANK_CONFLICTS_LOAD: 9926,
        m.SHARED_WAVEFRONTS_STORE: 3.4e7, m.BANK_CONFLICTS_STORE: 1.3e5,
        m.THEORETICAL_OCCUPANCY: 12.5, m.ACHIEVED_OCCUPANCY: 12.4, m.REGISTERS: 254,
        m.LIMIT_REGISTERS: 2, m.WAVES: 3.9, m.GRID: 1024, m.BLOCK: 128, m.UNIFORM_BRANCHES: 100,
        m.ISSUE: 0.83, m.INSTRUCTIONS: 2.36e9, m.FFMA: 6.87e10, m.FMA_PIPE: 76,
        m.ACTIVE_THREADS_PER_INSTRUCTION: 32, m.LSU_PIPE: 12,
        **_stalls(2.39, not_selected=0.33, short_scoreboard=0.07, dispatch=0.08, barrier=0.03),
    },
    work=MATMUL,
    bound="compute",
    sass={"global_loads": {"128": 8}, "global_stores": {"128": 32}, "shared_loads": {"128": 96},
          "shared_stores": {"32": 16, "128": 4}, "barriers": 2, "fma_ops": 2048,
          "instructions": 2707, "registers": 254,
          "loops": (loop(line=9, instructions=2500, mix={"fp32": 2048, "memory": 120}),)},
)  # fmt: skip
WARP_SPECIALISED = Healthy(
    metrics={
        **GEMM.metrics,
        m.SM: 82, m.MEMORY: 55, m.L1: 40, m.L2: 55, m.DRAM: 30, m.SHARED: 40,
        m.TENSOR_PIPE: 82, m.FMA_PIPE: 3, m.ISSUE: 0.18, m.FFMA: 1e6, m.WAVES: 1.0, m.GRID: 132,
        m.BLOCK: 384, m.REGISTERS: 168, m.THEORETICAL_OCCUPANCY: 18.8, m.ACHIEVED_OCCUPANCY: 17,
        **_stalls(30, gmma=0.45, long_scoreboard=0.2, barrier=0.05, wait=0.08, branch=0.05),
    },
    work=Work(bytes=10**8, flops=10**11, math="bf16"),
    bound="compute",
    sass={"bulk_copies": 4, "tensor_ops": 16, "wgmma_ops": 16, "serial_wgmma_ops": 0, "barriers": 2,
          "global_stores": {"128": 8}},
)  # fmt: skip
REDUCTION = Healthy(
    metrics={
        **STREAMING.metrics,
        m.DRAM: 86, m.L2: 70, m.MEMORY: 86,
        m.DRAM_READ_BYTES: STREAM.bytes, m.DRAM_WRITE_BYTES: 4e4,
        **_accesses(loads=5e5, per_load=16, stores=64, per_store=1),
        m.STORE_BYTES_PER_SECTOR: 4, m.REDUCTION_REQUESTS: 1056, m.L2_ATOMIC_UNIT: 0.1,
        m.WAVES: 1.0, m.GRID: 1056, m.SHARED_WAVEFRONTS_LOAD: 1056, m.SHARED_WAVEFRONTS_STORE: 8448,
        **_stalls(60, long_scoreboard=0.8, barrier=0.03),
    },
    work=STREAM,
    bound="memory",
    sass={"global_loads": {"128": 4}, "shuffles": 10, "barriers": 1, "atomic_ops": 1,
          "shared_stores": {"32": 1}, "shared_loads": {"32": 1},
          "loops": (loop(line=4, unrolled=4, global_loads=4, mix={"memory": 4, "fp32": 16}),)},
    says=frozenset({"dram_saturated"}),
)  # fmt: skip
N_BODY = Healthy(
    metrics={
        **GEMM.metrics,
        m.SM: 93, m.L1: 30, m.MEMORY: 30, m.SHARED: 25,
        m.FMA_PIPE: 82, m.XU_PIPE: 41, m.ISSUE: 0.93,
        m.INSTRUCTIONS: 2.3e9, m.FFMA: 4.4e10, m.FMUL: 1.5e10, m.FADD: 6e9, m.REGISTERS: 40,
        m.THEORETICAL_OCCUPANCY: 75, m.ACHIEVED_OCCUPANCY: 72,
        **_stalls(13, not_selected=0.6, wait=0.15, math=0.05),
    },
    work=MATMUL,
    bound="compute",
    sass={"shared_loads": {"128": 1}, "special_ops": 8, "barriers": 2,
          "global_loads": {"128": 1}, "shared_stores": {"128": 1}, "fma_ops": 96,
          "mix": {"fp32": 140, "special": 8, "memory": 8, "integer": 3}},
)  # fmt: skip

HEALTHY: dict[str, Healthy] = {
    "streaming": STREAMING,
    "vectorised": VECTORISED,
    "fill": FILL,
    "gemm": GEMM,
    "warp_specialised": WARP_SPECIALISED,
    "reduction": REDUCTION,
    "n_body": N_BODY,
}
