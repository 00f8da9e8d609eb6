"""What the advice says: where in the source, what applies to the case at hand, what to expect."""

from __future__ import annotations

from typing import Any

import pytest

from mcts.domain import Finding, Work
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, strength, where
from microtools import registry
from microtools.ranking import PRIOR_GAINS
from microtools.stalls import DRAM_ENOUGH
from tests.microtools.contexts import MATMUL, STREAM, kernel, loop, make_context, stalls
from tests.microtools.triggers_memory import SCRATCH, TILED, loads
from tests.microtools.triggers_parallelism import LIMITED

TOOLS = {tool.name: tool for tool in registry.builtin()}


def say(name: str, context: KernelContext) -> Finding:
    finding = TOOLS[name].examine(context)
    assert finding is not None
    return finding


@pytest.mark.parametrize(
    ("name", "metrics", "sass", "words"),
    [
        (
            "coalescing",
            loads(32, 4),
            {"global_loads": {"32": 1}, "lines": {"global_loads.32": [17]}},
            "(line 17)",
        ),
        (
            "bank_conflicts",
            {m.BANK_CONFLICTS_STORE: 90, m.SHARED_WAVEFRONTS_STORE: 100},
            {"lines": {"shared_stores.32": [8], "shared_loads.32": [11]}},
            "stores (line 8)",
        ),
        (
            "register_spills",
            {},
            {"local_loads": 4, "lines": {"local_loads": [9], "local_stores": [7]}},
            "(lines 7, 9)",
        ),
        (
            "barrier_stalls",
            stalls(barrier=0.5),
            {"barriers": 2, "lines": {"barriers": [12, 15]}},
            "(lines 12, 15)",
        ),
        (
            "stray_doubles",
            {m.FP64_PIPE: 40},
            {"double_ops": 9, "lines": {"double_ops": [3]}},
            "(line 3)",
        ),
        (
            "dependent_instructions",
            stalls(wait=0.7),
            {"loops": (loop(depth=1, line=4), loop(depth=2, line=6))},
            "(line 6)",
        ),
        (
            "serialised_wgmma",
            {m.TENSOR_PIPE: 40},
            {"wgmma_ops": 8, "serial_wgmma_ops": 8, "lines": {"serial_wgmma_ops": [31, 40]}},
            "8 of 8 wgmma instructions (lines 31, 40)",
        ),
        (
            "fences_in_pipeline",
            {},
            {
                "bulk_copies": 2,
                "loops": (loop(depth=1, line=30, wide_fences=1),),
                "lines": {"wide_fences": [17]},
            },
            "1 fence of the whole device's scope (MEMBAR.ALL.GPU) (line 17)",
        ),
        (
            "divergence",
            {m.THREADS_PER_INSTRUCTION: 8},
            {"branches": 1, "lines": {"branches": [21]}},
            "(line 21)",
        ),
    ],
)
def test_says_where_in_the_source(
    name: str, metrics: dict[str, float], sass: dict[str, Any], words: str
) -> None:
    finding = say(name, make_context(metrics, sass=sass))
    assert words in finding.advice
    assert finding.lines


def test_many_lines_are_kept_but_not_listed_in_words() -> None:
    lines = {"global_loads.32": list(range(10, 30))}
    finding = say(
        "coalescing", make_context(loads(32, 4), sass={"global_loads": {"32": 20}, "lines": lines})
    )
    assert finding.lines == tuple(range(10, 30))
    assert "line 1" not in finding.advice
    assert where(range(5)) == "" and where(()) == ""


def test_the_limiter_names_the_resource_and_how_much_of_it() -> None:
    few = {m.THEORETICAL_OCCUPANCY: 25}
    by_registers = say("occupancy_limiter", make_context(LIMITED | few))
    assert "limited by registers (2 blocks)" in by_registers.advice
    assert "168 registers per thread" in by_registers.advice
    shared = {m.LIMIT_SHARED: 1, m.LIMIT_REGISTERS: 1, m.SHARED_PER_BLOCK: 101376}
    both = say("occupancy_limiter", make_context(LIMITED | few | shared))
    assert "limited by registers and shared memory (1 blocks)" in both.advice
    assert "99.0 KiB of shared memory per block" in both.advice
    by_barriers = say("occupancy_limiter", make_context(LIMITED | few | {m.LIMIT_BARRIERS: 1}))
    assert "limited by barriers" in by_barriers.advice


def test_advice_on_latency_leaves_out_what_is_done_or_does_not_apply() -> None:
    waiting = {m.ISSUE: 0.2} | stalls(long_scoreboard=0.6)

    def advice(sass: dict[str, Any], **more: float) -> str:
        counters = {getattr(m, name): value for name, value in more.items()}
        return say("global_latency", make_context(waiting | counters, sass=sass)).advice

    assert "cp.async" in advice(TILED) and "128 bits" not in advice(TILED)
    assert "cp.async" not in advice(SCRATCH) and "128 bits" in advice(SCRATCH)
    assert "occupancy" in advice(TILED, ACHIEVED_OCCUPANCY=20)
    assert "occupancy" not in advice(TILED, ACHIEVED_OCCUPANCY=90)


def test_waiting_for_the_short_scoreboard_names_what_the_code_holds() -> None:
    waiting = {m.ISSUE: 0.3} | stalls(short_scoreboard=0.5)
    shuffling = say("shared_latency", make_context(waiting, sass={"shuffles": 5})).advice
    assert "shuffles" in shuffling and "shared memory" not in shuffling
    exponentials = say("shared_latency", make_context(waiting, sass={"special_ops": 5})).advice
    assert "special functions" in exponentials and "shuffles" not in exponentials


def test_control_flow_tells_branches_from_fetching() -> None:
    branching = {m.UNIFORM_BRANCHES: 60} | stalls(branch=0.5)
    assert "only 60 %" in say("control_flow", make_context(branching)).advice
    assert "whole warp" not in say("control_flow", make_context(stalls(branch=0.5))).advice
    without_branches = {m.UNIFORM_BRANCHES: 0} | stalls(branch=0.5)
    assert "only 0 %" not in say("control_flow", make_context(without_branches)).advice
    fetching = make_context(stalls(no_instruction=0.5), sass={"instructions": 9000})
    assert "fetching instructions (9000 instructions)" in say("control_flow", fetching).advice
    assert "unroll less" in say("control_flow", fetching).advice
    assert "constants" in say("control_flow", make_context(stalls(imc_miss=0.5))).advice


def test_indexed_constants_show_on_the_unit_that_reads_them() -> None:
    mild = say("control_flow", make_context({m.ADU_PIPE: 75, m.FMA_PIPE: 20}))
    severe = say("control_flow", make_context({m.ADU_PIPE: 95, m.FMA_PIPE: 20}))
    assert "__constant__" in mild.advice and mild.strength < severe.strength


def test_fences_are_told_from_stores_that_drain() -> None:
    fenced = say("write_drain", make_context(stalls(membar=0.5, drain=0.1) | {m.DRAM: 65}))
    assert "__threadfence_block" in fenced.advice
    draining = make_context(stalls(membar=0.1, drain=0.5) | {m.DRAM: 65})
    assert TOOLS["write_drain"].examine(draining) is None
    assert "coalesced" in say("write_drain", make_context(stalls(drain=0.5))).advice


def test_spills_are_told_from_arrays_by_the_registers_left() -> None:
    spilled = {"local_loads": 9, "local_stores": 9}
    full = say("register_spills", make_context(sass={**spilled, "registers": 255})).advice
    assert "At 255 registers per thread values spill." in full
    free = say("register_spills", make_context(sass={**spilled, "registers": 40})).advice
    assert "an array is indexed with a variable" in free


def test_atomics_in_shared_memory_have_their_own_cure() -> None:
    metrics = {m.SHARED_ATOMICS: 80, m.INSTRUCTIONS: 1000} | stalls(short_scoreboard=0.7)
    finding = say("atomic_contention", make_context(metrics))
    assert "shared-memory atomics" in finding.advice and "own copy" in finding.advice


def test_divisions_are_recognised_in_integer_work() -> None:
    sass = {
        "mix": {"integer": 53, "memory": 4, "conversion": 4, "special": 2},
        "special_ops": 3, "conversion_ops": 6, "integer_ops": 63,
    }  # fmt: skip
    busy = {m.ALU_PIPE: 60, m.ISSUE: 0.7}
    assert "modulos" in say("integer_arithmetic", make_context(busy, sass=sass)).advice
    integers = Work(bytes=100, flops=1000, math="int32")
    assert (
        "modulos" in say("integer_arithmetic", make_context(busy, sass=sass, work=integers)).advice
    )


def test_exact_divisions_and_roots_are_seen_below_a_busy_unit() -> None:
    metrics = {m.XU_PIPE: 28, m.FMA_PIPE: 55, m.ISSUE: 0.75}
    dense = {"mix": {"fp32": 80, "special": 10, "integer": 10}, "special_ops": 10}
    assert TOOLS["special_functions"].examine(make_context(metrics)) is None
    assert say("special_functions", make_context(metrics, sass=dense)).evidence
    waiting = make_context(metrics | {m.DRAM: 70}, sass=dense)
    assert TOOLS["special_functions"].examine(waiting) is None


def test_machine_code_alone_is_enough_for_some() -> None:
    halves = Work(bytes=1000, flops=10**6, math="fp16")
    assert say("tensor_cores", make_context(sass={"instructions": 50}, work=halves))
    doubles = {"double_ops": 40, "fma_ops": 10}
    assert say("stray_doubles", make_context(sass=doubles)).strength <= 0.5
    tile = {**TILED, "loops": (loop(global_loads=2, barriers=2),)}
    assert say("async_copy", make_context(sass=tile)).strength <= 0.5
    narrow = {"global_loads": {"16": 4}}
    assert say("narrow_access", make_context(sass=narrow)).strength <= 0.5
    floats = {"global_loads": {"32": 4}}
    assert say("narrow_access", make_context(sass=floats)), "each thread has elements of its own"
    for more in ({"loops": (loop(),)}, {"shared_loads": {"32": 2}}, {"atomic_ops": 1}):
        assert TOOLS["narrow_access"].examine(make_context(sass=floats | more)) is None


@pytest.mark.parametrize(
    ("tool", "mix", "twin"),
    [
        ("special_functions", {"fp32": 60, "special": 20}, {"fp32": 60, "special": 6}),
        ("conversions", {"fp32": 60, "conversion": 20}, {"fp32": 60, "conversion": 6}),
        (
            "integer_arithmetic",
            {"integer": 60, "special": 2, "conversion": 4, "fp32": 20},
            {"integer": 60, "fp32": 20},
        ),
    ],
)
def test_the_hot_code_says_what_it_fills_where_nothing_was_counted(
    tool: str, mix: dict[str, int], twin: dict[str, int]
) -> None:
    """An instruction of the special-function unit takes eight cycles, most others one."""

    def code(loop_mix: dict[str, int]) -> dict[str, object]:
        return {
            "instructions": 200, "integer_ops": 100, "special_ops": loop_mix.get("special", 0) + 1,
            "conversion_ops": loop_mix.get("conversion", 0), "fma_ops": 10,
            "loops": (loop(mix=loop_mix),),
        }  # fmt: skip

    found = say(tool, make_context(sass=code(mix)))
    assert found.strength <= 1.0 and found.evidence
    assert TOOLS[tool].examine(make_context(sass=code(twin))) is None
    assert TOOLS[tool].examine(make_context({m.DRAM: 50.0}, sass=code(mix))) is None


def test_serial_matrix_instructions_matter_more_the_emptier_their_pipe() -> None:
    serial = {"wgmma_ops": 8, "serial_wgmma_ops": 8}

    def strength_of(**counters: float) -> float:
        metrics = {getattr(m, name): value for name, value in counters.items()}
        return say("serialised_wgmma", make_context(metrics, sass=serial)).strength

    assert (
        strength_of(TENSOR_PIPE=75)
        < strength_of(TENSOR_PIPE=60)
        < strength_of(TENSOR_PIPE=45)
        == 1.0
    )
    assert strength_of(TENSOR_PIPE=45, DRAM=70) < strength_of(TENSOR_PIPE=45, DRAM=30)
    unmeasured, waiting, elsewhere = (
        say("serialised_wgmma", make_context(counters, sass=serial)).strength
        for counters in ({}, stalls(gmma=0.5), stalls(gmma=0.01))
    )
    assert elsewhere == unmeasured < waiting == 1.0
    assert unmeasured > 0.5


def test_reuse_shows_without_a_declared_cost() -> None:
    again = loads(4) | {m.DRAM_READ_BYTES: 400, m.L1: 95, m.DRAM: 3}
    assert say("missing_reuse", make_context(again, work=None))
    once = loads(4) | {m.DRAM_READ_BYTES: 12800, m.L1: 95, m.DRAM: 3}
    assert TOOLS["missing_reuse"].examine(make_context(once, work=None)) is None


def test_code_without_any_tile_is_blamed_more() -> None:
    busy = {m.L1: 62, m.DRAM: 2}
    untiled = say("missing_reuse", make_context(busy, sass={"global_loads": {"32": 2}}))
    tiled = say("missing_reuse", make_context(busy, sass={"shared_loads": {"32": 2}}))
    assert untiled.strength > tiled.strength
    assert "memory.shared_tiling" in untiled.methods and "stage a tile" in untiled.advice
    assert "memory.shared_tiling" not in tiled.methods


def test_a_busy_multiprocessor_excuses_only_a_cache_that_is_not_clearly_busy() -> None:
    counting = {m.SM: 90, m.FMA_PIPE: 40, m.ISSUE: 0.5, m.DRAM: 2}
    assert TOOLS["missing_reuse"].examine(make_context(counting | {m.L1: 64})) is None
    assert say("missing_reuse", make_context(counting | {m.L1: 66}))
    issuing = make_context(counting | {m.L1: 78, m.ISSUE: 0.8})
    assert TOOLS["missing_reuse"].examine(issuing) is None


def test_a_grid_that_gives_every_multiprocessor_a_block_is_blamed_half_as_much() -> None:
    fifth = {m.WAVES: 0.2, m.MULTIPROCESSORS: 132}
    empty = say("small_grid", make_context(fifth | {m.GRID: 110}))
    thin = say("small_grid", make_context(fifth | {m.GRID: 132}))
    assert empty.strength == 1.0 and thin.strength == 0.5
    assert say("small_grid", make_context({m.WAVES: 0.2})).strength == 1.0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("global_latency", "long_scoreboard"),
        ("shared_latency", "short_scoreboard"),
        ("barrier_stalls", "barrier"),
        ("load_queue", "lg_throttle"),
        ("dependent_instructions", "wait"),
        ("control_flow", "branch"),
        ("write_drain", "membar"),
    ],
)
def test_waiting_is_no_fault_where_memory_is_nearly_full(name: str, reason: str) -> None:
    waiting = stalls(**{reason: 0.9})
    quiet, busy = (say(name, make_context(waiting | {m.DRAM: dram})) for dram in (40, 69))
    assert 0 < busy.strength < quiet.strength
    assert TOOLS[name].examine(make_context(waiting | {m.DRAM: DRAM_ENOUGH})) is None


def test_copies_count_by_their_bytes() -> None:
    many = {"copies_to_device": 50, "copied_bytes": 10_000_000, "copy_us": 600.0}
    one = make_context(timeline={**many, "pageable_copies": 1, "pageable_bytes": 9_000_000})
    finding = say("pageable_copies", one)
    assert "1 of 50 copies" in finding.advice and finding.evidence[0].value == 0.54
    few = make_context(timeline={**many, "pageable_copies": 49, "pageable_bytes": 1_000_000})
    assert TOOLS["pageable_copies"].examine(few) is None


def test_moves_in_a_loop_are_overhead_too() -> None:
    def trip(**mix: int) -> KernelContext:
        return make_context({m.ISSUE: 0.4}, sass={"loops": (loop(line=5, mix=mix),)})

    assert TOOLS["rolled_loops"].examine(trip(integer=4, memory=1, fp32=9)) is None
    moving = say("rolled_loops", trip(integer=4, other=4, memory=1, fp32=9))
    assert moving.evidence[0].value == 0.444


def test_the_side_with_few_requests_is_not_blamed_for_its_width() -> None:
    mixed = {"global_loads": {"128": 4}, "global_stores": {"32": 4}}

    def stores(percent: float) -> KernelContext:
        counts = {m.LOAD_REQUESTS: 100 - percent, m.STORE_REQUESTS: percent, m.LSU_PIPE: 45}
        return make_context(counts, sass=mixed)

    assert TOOLS["narrow_access"].examine(stores(14)) is None
    assert "store instructions" in say("narrow_access", stores(16)).advice
    assert say("narrow_access", make_context({m.LSU_PIPE: 45}, sass=mixed)), "nobody counted"


def test_narrow_loads_of_indices_beside_bulk_copies_are_no_fault() -> None:
    indices = {"global_loads": {"16": 2}, "global_stores": {"128": 8}}
    assert say("narrow_access", make_context(sass=indices))
    by_tma = make_context(sass=indices | {"bulk_copies": 2})
    assert TOOLS["narrow_access"].examine(by_tma) is None
    narrow = indices | {"bulk_copies": 2, "global_stores": {"16": 8}}
    assert "store instructions" in say("narrow_access", make_context(sass=narrow)).advice


def test_data_falls_out_of_the_first_cache_too() -> None:
    asked = {m.LOAD_SECTORS: MATMUL.bytes / 4, m.STORE_SECTORS: 0}
    serving = {m.L1_HIT: 5, m.L2: 80, m.L2_HIT: 95, m.DRAM: 20}
    assert "stays in L1" in say("cache_thrash", make_context(asked | serving)).advice
    assert TOOLS["cache_thrash"].examine(make_context(asked | serving | {m.L1_HIT: 80})) is None


def test_launches_are_counted_without_a_timeline() -> None:
    steps = (kernel(name="b", launches=9),)
    finding = say("launch_overhead", make_context(others=steps, work=STREAM, time_us=40.0))
    assert "10 launches" in finding.advice
    assert finding.expected_gain == 2.0


def test_uncoalesced_stores_beside_many_loads_are_not_worth_a_word() -> None:
    stores = {m.STORE_SECTORS: 320.0, m.STORE_REQUESTS: 10.0}
    many = {m.LOAD_SECTORS: 4e5, m.LOAD_REQUESTS: 1e5}
    narrow = {"global_loads": {"32": 1}, "global_stores": {"32": 1}}
    assert "stores" in say("coalescing", make_context(stores, sass=narrow)).advice
    assert TOOLS["coalescing"].examine(make_context(stores | many, sass=narrow)) is None


def test_byte_accesses_can_be_misaligned_too() -> None:
    bytes_wide = {"global_loads": {"8": 1}}
    off = loads(2, 16)
    assert say("misaligned_access", make_context(off, sass=bytes_wide))
    assert TOOLS["misaligned_access"].examine(make_context(off)) is None


def test_strength_runs_from_the_threshold_to_full_in_either_direction() -> None:
    assert strength(10, 10, 20) == 0.25 == strength(20, 20, 10)
    assert strength(20, 10, 20) == 1.0 == strength(5, 20, 10)


def test_priors_are_of_tools_there_are() -> None:
    assert set(PRIOR_GAINS) <= set(TOOLS)
