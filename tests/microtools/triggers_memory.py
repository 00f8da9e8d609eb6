"""Triggers of tools about memory: caches, DRAM, shared memory, and how accesses are made."""

from __future__ import annotations

from mcts.domain import Work
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from tests.microtools.contexts import MATMUL, STREAM, between, make_context, stalls
from tests.microtools.triggers import Trigger

LEAST = float(MATMUL.bytes)
NARROW = {"global_loads": {"32": 4}, "global_stores": {"32": 1}}
WIDE = {"global_loads": {"128": 4}, "global_stores": {"128": 1}}


def loads(sectors: float, used: float | None = None, **more: float) -> dict[str, float]:
    """A hundred warp loads that touch `sectors` each and use `used` bytes of a sector."""
    named = {getattr(m, name): value for name, value in more.items()}
    counted = {m.LOAD_SECTORS: 100 * sectors, m.LOAD_REQUESTS: 100.0}
    return {**counted, **({} if used is None else {m.LOAD_BYTES_PER_SECTOR: used}), **named}


def _traffic(times: float, **more: float) -> dict[str, float]:
    named = {getattr(m, name): value for name, value in more.items()}
    return {m.DRAM_READ_BYTES: times * LEAST - 1e6, m.DRAM_WRITE_BYTES: 1e6, **named}


def _asked(times: float) -> dict[str, float]:
    """Loads of `times` the least bytes."""
    return {m.LOAD_SECTORS: times * LEAST / m.SECTOR_BYTES, m.STORE_SECTORS: 0.0}


def _thrash(part: float) -> KernelContext:
    fetched = _traffic(between(2.5, 10, part), DRAM=85, L2_HIT=20)
    return make_context(_asked(between(3.2, 12, part)) | fetched)


def _widths(part: float) -> dict[str, dict[str, int]]:
    return {"global_loads": {"32": round(between(6, 10, part)), "128": round(between(4, 0, part))}}


def _conflicts(share: float, **more: float) -> dict[str, float]:
    named = {getattr(m, name): value for name, value in more.items()}
    return {m.BANK_CONFLICTS_LOAD: 100 * share, m.SHARED_WAVEFRONTS_LOAD: 100.0, **named}


TILED = {"global_loads": {"128": 2}, "shared_stores": {"32": 8}, "barriers": 2}
SCRATCH = {"global_loads": {"32": 8}, "shared_stores": {"32": 2}, "barriers": 9}

TRIGGERS: dict[str, Trigger] = {
    "coalescing": Trigger(
        firing=lambda part: make_context(loads(between(6, 32, part), between(20, 4, part))),
        silent=[
            make_context(loads(16, 32)),  # 128-bit accesses fill sixteen sectors
            make_context(loads(16), sass=WIDE),
            make_context(loads(16)),  # nobody knows how wide they are meant to be
            make_context(loads(1, 4)),  # one value for the whole warp
            make_context(loads(2, 18)),  # a row and a broadcast, as in a naive matrix product
            make_context(loads(5, 25.6)),  # misaligned: another tool's matter
            make_context(loads(32, 4) | {m.MEMORY: 8} | stalls(long_scoreboard=0.05)),
            make_context(loads(32, 4) | {m.STORE_SECTORS: 1e5, m.STORE_REQUESTS: 2.5e4}),
        ],
        needs=(m.LOAD_SECTORS, m.LOAD_REQUESTS),
    ),
    "misaligned_access": Trigger(
        firing=lambda part: make_context(
            loads(between(4.75, 5, part), 128 / between(4.75, 5, part))
        ),
        silent=[
            make_context(loads(4, 32)),
            make_context(loads(17, 30.1)),  # wide accesses hardly notice
            make_context(loads(5, 25.6, L1_HIT=88)),  # the taps of a stencil share sectors in L1
            make_context(loads(5, 25.6, MEMORY=12)),
            make_context(loads(32, 4)),  # far worse than misaligned
            make_context(loads(2, 18)),
            make_context(loads(5), sass=WIDE),
        ],
        needs=(m.LOAD_SECTORS, m.LOAD_REQUESTS),
    ),
    "excess_traffic": Trigger(
        firing=lambda part: make_context(_traffic(between(1.35, 4, part), DRAM=85)),
        silent=[
            make_context(_traffic(1.05, DRAM=90)),
            make_context(_traffic(4, DRAM=3)),  # memory is idle: what it moves takes no time
            make_context(_traffic(4, DRAM=85), work=None),
            make_context(_traffic(4, DRAM=85), work=Work(bytes=0, flops=1)),
        ],
        needs=(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES),
    ),
    "dram_saturated": Trigger(
        firing=lambda part: make_context({m.DRAM: between(80, 97, part)}),
        silent=[make_context({m.DRAM: 70, m.MEMORY: 98, m.L1: 98})],
        needs=(m.DRAM,),
    ),
    "cache_thrash": Trigger(
        firing=_thrash,
        silent=[
            make_context(_asked(1) | _traffic(1, DRAM=90, L2_HIT=30)),  # a stream has no reuse
            make_context(_asked(8) | _traffic(1, DRAM=85, L2_HIT=90)),  # the caches do their job
            make_context(_asked(8) | _traffic(4, DRAM=5, L2_HIT=30)),
            make_context(  # tiles bypass L1 by design
                _asked(8) | {m.L1_HIT: 5, m.L2: 80, m.L2_HIT: 95, m.DRAM: 20},
                sass={"shared_loads": {"128": 8}},
            ),
        ],
        needs=(m.LOAD_SECTORS, m.DRAM_READ_BYTES, m.DRAM, m.L2_HIT),
    ),
    "missing_reuse": Trigger(
        firing=lambda part: make_context(
            {m.L1: between(62, 98, part), m.DRAM: 1, m.FMA_PIPE: 25, m.ISSUE: 0.4, m.SM: 60}
        ),
        silent=[
            make_context({m.L1: 98, m.DRAM: 80}),
            make_context({m.L1: 58, m.DRAM: 1, m.FMA_PIPE: 25}),  # the caches have room
            make_context({m.L1: 70, m.DRAM: 3, m.FMA_PIPE: 76}),  # a good tiled matrix product
            make_context({m.L1: 80, m.DRAM: 3, m.FMA_PIPE: 40, m.ISSUE: 0.84}),  # it issues as fast
            make_context({m.L1: 64, m.DRAM: 3, m.FMA_PIPE: 40, m.SM: 80}),
            make_context({m.L1: 90, m.DRAM: 20}, work=STREAM),  # nothing to use again
            make_context({m.L1: 90, m.DRAM: 20}, work=None),  # nobody knows
            make_context({m.L1: 90, m.DRAM: 20} | loads(4, DRAM_READ_BYTES=12000), work=None),
        ],
        needs=(m.L1, m.DRAM),
    ),
    "bank_conflicts": Trigger(
        firing=lambda part: make_context(_conflicts(between(0.22, 0.97, part), SHARED=60)),
        silent=[
            make_context(_conflicts(0.05, SHARED=60)),
            make_context(_conflicts(0, SHARED=60)),
            make_context(_conflicts(0.9, SHARED=2) | stalls(short_scoreboard=0.01)),
            make_context(_conflicts(0.9, DRAM=88)),
        ],
        needs=(m.BANK_CONFLICTS_LOAD, m.SHARED_WAVEFRONTS_LOAD),
    ),
    "shared_saturated": Trigger(
        firing=lambda part: make_context({m.SHARED: between(72, 97, part), m.FMA_PIPE: 40}),
        silent=[
            make_context({m.SHARED: 50, m.FMA_PIPE: 40}),
            make_context({m.SHARED: 75, m.FMA_PIPE: 85}),
            make_context({m.SHARED: 75, m.TENSOR_PIPE: 80}),
            make_context({m.L1: 95}),
        ],
        needs=(m.SHARED,),
    ),
    "load_queue": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.3, m.LSU_PIPE: 70} | stalls(lg_throttle=between(0.16, 0.9, part))
        ),
        silent=[
            make_context(stalls(lg_throttle=0.05)),
            make_context(stalls(lg_throttle=0.9) | {m.DRAM: 71}),
            make_context(stalls(lg_throttle=0.4) | {m.ISSUE: 0.9}),
        ],
        needs=(m.STALL_LG_THROTTLE, m.WARP_LATENCY),
    ),
    "write_drain": Trigger(
        firing=lambda part: make_context({m.ISSUE: 0.3} | stalls(drain=between(0.22, 0.9, part))),
        silent=[
            make_context(stalls(drain=0.05, membar=0.05)),
            make_context(stalls(drain=0.4) | {m.DRAM: 72}),  # a kernel that mostly stores
            make_context(stalls(drain=0.4) | {m.DRAM: 50, m.L2: 75}),
        ],
        needs=(m.STALL_DRAIN, m.WARP_LATENCY),
    ),
    "shared_latency": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.3} | stalls(short_scoreboard=between(0.31, 0.9, part), mio_throttle=0.02)
        ),
        silent=[
            make_context(stalls(short_scoreboard=0.1, mio_throttle=0.1)),
            make_context(stalls(short_scoreboard=0.5) | {m.TENSOR_PIPE: 85}),
            make_context(stalls(short_scoreboard=0.9) | {m.DRAM: 71}),
        ],
        needs=(m.WARP_LATENCY,),
    ),
    "narrow_access": Trigger(
        firing=lambda part: make_context({m.LSU_PIPE: 45, m.DRAM: 30}, sass=_widths(part)),
        silent=[
            make_context({m.LSU_PIPE: 45}, sass=WIDE),
            make_context({m.LSU_PIPE: 45, m.DRAM: 90}, sass=NARROW),
            make_context({m.LSU_PIPE: 5, m.ISSUE: 0.9}, sass=NARROW, bound="compute"),
            make_context({m.LSU_PIPE: 5, m.ISSUE: 0.1}, sass=NARROW),
            make_context({m.LSU_PIPE: 5, m.ISSUE: 0.9}, sass=NARROW),  # busy with something else
            make_context(  # one store behind a loop of wide loads
                {m.LSU_PIPE: 45, m.LOAD_REQUESTS: 900, m.STORE_REQUESTS: 100},
                sass={"global_loads": {"128": 4}, "global_stores": {"32": 4}},
            ),
            make_context({m.LSU_PIPE: 45}),
        ],
    ),
    "register_spills": Trigger(
        firing=lambda part: make_context(
            {m.LOCAL_LOADS: between(6, 300, part), m.LOCAL_STORES: 0, m.INSTRUCTIONS: 1000},
            sass={"local_loads": 5, "local_stores": 4, "stack_bytes": 64},
        ),
        silent=[
            make_context(sass={}),
            make_context(  # the slow path of sinf: in the code, never run
                {m.LOCAL_LOADS: 0, m.LOCAL_STORES: 0, m.INSTRUCTIONS: 1000},
                sass={"local_loads": 5, "local_stores": 7, "stack_bytes": 28},
            ),
            make_context({m.LOCAL_LOADS: 300, m.LOCAL_STORES: 0, m.INSTRUCTIONS: 1000}),
        ],
    ),
    "async_copy": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.3} | stalls(long_scoreboard=between(0.1, 0.6, part), barrier=0.06),
            sass=TILED,
        ),
        silent=[
            make_context(stalls(long_scoreboard=0.6), sass=SCRATCH),
            make_context(stalls(long_scoreboard=0.6), sass={**TILED, "async_copies": 1}),
            make_context(stalls(long_scoreboard=0.6), sass=TILED, work=STREAM),
            make_context(stalls(long_scoreboard=0.02, barrier=0.03), sass=TILED),
            make_context(sass=TILED),
        ],
        needs=(m.WARP_LATENCY,),
    ),
}
