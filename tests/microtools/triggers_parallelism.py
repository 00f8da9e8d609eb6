"""Triggers of tools about parallelism: grids, blocks, occupancy, waiting, and schedulers."""

from __future__ import annotations

from mcts.domain import metrics as m
from tests.microtools.contexts import between, make_context, stalls
from tests.microtools.triggers import Trigger

LIMITED = {m.LIMIT_REGISTERS: 2, m.LIMIT_WARPS: 8, m.REGISTERS: 168, m.LIMIT_BLOCKS: 32}
WARP_SPECIALISED = {
    m.TENSOR_PIPE: 45, m.ISSUE: 0.2, m.THEORETICAL_OCCUPANCY: 19, m.ACHIEVED_OCCUPANCY: 6,
    m.SM: 45, m.MEMORY: 40, **LIMITED,
}  # fmt: skip

TRIGGERS: dict[str, Trigger] = {
    "occupancy_limiter": Trigger(
        firing=lambda part: make_context(
            LIMITED | {m.THEORETICAL_OCCUPANCY: between(78, 12.5, part)}
        ),
        silent=[
            make_context(LIMITED | {m.THEORETICAL_OCCUPANCY: 90}),
            make_context(LIMITED | {m.THEORETICAL_OCCUPANCY: 12.5, m.SM: 80}),
            make_context(LIMITED | {m.THEORETICAL_OCCUPANCY: 12.5, m.ISSUE: 0.8}),
            make_context(LIMITED | {m.THEORETICAL_OCCUPANCY: 12.5, m.WAVES: 0.3}),
            make_context(WARP_SPECIALISED),
        ],
        needs=(m.THEORETICAL_OCCUPANCY,),
    ),
    "occupancy_shortfall": Trigger(
        firing=lambda part: make_context(
            {m.THEORETICAL_OCCUPANCY: 100, m.ACHIEVED_OCCUPANCY: between(85, 10, part)}
        ),
        silent=[
            make_context({m.THEORETICAL_OCCUPANCY: 50, m.ACHIEVED_OCCUPANCY: 46}),
            make_context({m.THEORETICAL_OCCUPANCY: 100, m.ACHIEVED_OCCUPANCY: 74, m.DRAM: 71}),
            make_context({m.THEORETICAL_OCCUPANCY: 100, m.ACHIEVED_OCCUPANCY: 10, m.WAVES: 0.2}),
            make_context(WARP_SPECIALISED),
        ],
        needs=(m.THEORETICAL_OCCUPANCY, m.ACHIEVED_OCCUPANCY),
    ),
    "small_grid": Trigger(
        firing=lambda part: make_context(
            {m.WAVES: between(0.95, 0.05, part), m.GRID: 40, m.MULTIPROCESSORS: 132}
        ),
        silent=[
            make_context({m.WAVES: 4, m.GRID: 4000, m.MULTIPROCESSORS: 132}),
            make_context({m.WAVES: 1}),
            make_context({m.WAVES: 0.5, m.GRID: 132, m.MULTIPROCESSORS: 132, m.DRAM: 88}),
            make_context(WARP_SPECIALISED | {m.WAVES: 0.5}),
        ],
        needs=(m.WAVES,),
    ),
    "tail_wave": Trigger(
        firing=lambda part: make_context({m.WAVES: between(1.58, 1.02, part), m.SM: 30}),
        silent=[
            make_context({m.WAVES: 15.5}),
            make_context({m.WAVES: 3.9}),
            make_context({m.WAVES: 1.1, m.DRAM: 88}),  # nothing is left idle
            make_context({m.WAVES: 0.4}),
        ],
        needs=(m.WAVES,),
    ),
    "block_shape": Trigger(
        firing=lambda part: make_context({m.BLOCK: round(between(60, 33, part)), m.ISSUE: 0.5}),
        silent=[
            make_context({m.BLOCK: 256}),
            make_context({m.BLOCK: 64}),
            make_context({m.BLOCK: 1000}),
            make_context({m.BLOCK: 32, m.THEORETICAL_OCCUPANCY: 50, m.DRAM: 85}),
            make_context({m.BLOCK: 32, m.THEORETICAL_OCCUPANCY: 100}),
        ],
        needs=(m.BLOCK,),
    ),
    "global_latency": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.2} | stalls(long_scoreboard=between(0.31, 1, part))
        ),
        silent=[
            make_context(stalls(long_scoreboard=0.2)),
            make_context(stalls(long_scoreboard=0.8) | {m.DRAM: 71}),
            make_context(stalls(long_scoreboard=0.8) | {m.ISSUE: 0.9}),
            make_context(stalls(long_scoreboard=0.8) | {m.TENSOR_PIPE: 90, m.ISSUE: 0.2}),
        ],
        needs=(m.STALL_LONG_SCOREBOARD, m.WARP_LATENCY),
    ),
    "barrier_stalls": Trigger(
        firing=lambda part: make_context({m.ISSUE: 0.3} | stalls(barrier=between(0.21, 0.9, part))),
        silent=[
            make_context(stalls(barrier=0.1)),
            make_context(stalls(barrier=0.9) | {m.DRAM: 71}),
            make_context(stalls(barrier=0.4) | {m.FMA_PIPE: 85}),
        ],
        needs=(m.STALL_BARRIER, m.WARP_LATENCY),
    ),
    "dependent_instructions": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.3} | stalls(wait=between(0.3, 0.8, part), math=0.02, dispatch=0.01)
        ),
        silent=[
            make_context(stalls(wait=0.2)),
            make_context(stalls(wait=0.4) | {m.ISSUE: 0.9}),
            make_context(stalls(wait=0.8) | {m.DRAM: 71}),
            make_context(stalls(math=0.6) | {m.FMA_PIPE: 92, m.ISSUE: 0.7}),
        ],
        needs=(m.WARP_LATENCY,),
    ),
    "control_flow": Trigger(
        firing=lambda part: make_context({m.ISSUE: 0.3} | stalls(branch=between(0.21, 0.8, part))),
        silent=[
            make_context(stalls(branch=0.05, no_instruction=0.05)),
            make_context(stalls(no_instruction=0.8) | {m.DRAM: 71}),
            make_context({m.ADU_PIPE: 75, m.FMA_PIPE: 80}),
            make_context({m.ADU_PIPE: 40, m.FMA_PIPE: 10}),
        ],
        needs=(m.STALL_BRANCH, m.WARP_LATENCY),
    ),
    "starved_schedulers": Trigger(
        firing=lambda part: make_context({m.ISSUE: between(0.59, 0.02, part)}),
        silent=[
            make_context({m.ISSUE: 0.7}),
            make_context({m.ISSUE: 0.15, m.DRAM: 90}),
            make_context(WARP_SPECIALISED),
        ],
        needs=(m.ISSUE,),
    ),
    "crowded_schedulers": Trigger(
        firing=lambda part: make_context(
            {m.ISSUE: 0.85, m.ACHIEVED_OCCUPANCY: 95, m.REGISTERS: 32}
            | stalls(not_selected=between(0.31, 0.8, part))
        ),
        silent=[
            make_context(stalls(not_selected=0.2)),
            make_context(stalls(not_selected=0.5) | {m.FMA_PIPE: 92}),
            make_context(
                stalls(not_selected=0.33) | {m.ACHIEVED_OCCUPANCY: 12.4, m.REGISTERS: 254}
            ),
            make_context(stalls(not_selected=0.4) | {m.ISSUE: 0.3}),
        ],
        needs=(m.STALL_NOT_SELECTED, m.WARP_LATENCY),
    ),
    "atomic_contention": Trigger(
        firing=lambda part: make_context(
            {m.REDUCTION_REQUESTS: 80, m.ATOMIC_REQUESTS: 0, m.INSTRUCTIONS: 1000}
            | {m.L2_ATOMIC_UNIT: between(31, 95, part), m.DRAM: 5}
        ),
        silent=[
            make_context(  # the last step of a reduction
                {m.REDUCTION_REQUESTS: 1, m.INSTRUCTIONS: 1000, m.L2_ATOMIC_UNIT: 0.2}
                | stalls(long_scoreboard=0.8)
            ),
            make_context({m.REDUCTION_REQUESTS: 80, m.INSTRUCTIONS: 1000, m.L2_ATOMIC_UNIT: 3}),
            make_context(  # scattered over much memory, which is the limit
                {m.REDUCTION_REQUESTS: 80, m.INSTRUCTIONS: 1000, m.L2_ATOMIC_UNIT: 60, m.DRAM: 70}
            ),
            make_context(stalls(long_scoreboard=0.8) | {m.INSTRUCTIONS: 1000}),
            make_context(
                {m.SHARED_ATOMICS: 80, m.INSTRUCTIONS: 1000} | stalls(short_scoreboard=0.2)
            ),
        ],
        needs=(m.INSTRUCTIONS,),
    ),
}
