"""What tells a cause from its symptoms, each as a recorded kernel of `causes` showed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mcts.domain import Finding, Guidance, Profile, Work
from mcts.domain import metrics as m
from mcts.microtool.relief import Relief
from mcts.microtool.tool import Tool
from microtools import registry
from microtools.advisor import RooflineAdvisor
from microtools.gains import COMPUTING, STALLS, outlook
from microtools.ranking import LEAST_GAIN, score
from microtools.reliefs import RELIEFS
from microtools.trigonometry import slow_path_share
from tests.microtools.contexts import H200, MATMUL, STREAM, kernel, loop, make_context, stalls
from tests.microtools.contexts import roofline as roofline_of

SINES: Mapping[str, Any] = {
    "local_loads": 3,
    "local_stores": 2,
    "stack_bytes": 32,
    "integer_ops": 50,
    "opcodes": ("DMUL", "F2F.F32.F64", "FFMA", "I2F.F64.S64", "LDL", "STL"),
}
"""Machine code of a kernel that calls sinf."""
TAKEN = {m.INSTRUCTIONS: 1000.0, m.LOCAL_LOADS: 18.0, m.LOCAL_STORES: 42.0}
NEVER = {**TAKEN, m.LOCAL_LOADS: 0.0, m.LOCAL_STORES: 0.0}


def say(name: str, *args: Any, **kwargs: Any) -> Finding | None:
    (tool,) = (tool for tool in registry.builtin() if tool.name == name)
    return tool.examine(make_context(*args, **kwargs))


def guidance(metrics: Mapping[str, float], sass: Mapping[str, Any], work: Work) -> Guidance:
    profile = Profile(
        kernels=(kernel(metrics, sass=sass),), roofline=roofline_of("memory"), hardware=H200
    )
    return RooflineAdvisor().examine(work=work, profile=profile, time_us=100.0)


def test_large_arguments_of_sines_are_no_spills() -> None:
    slow = say("integer_arithmetic", TAKEN, sass=SINES)
    assert slow is not None and slow.strength == 1.0
    assert "slow path" in slow.advice
    assert say("register_spills", TAKEN, sass=SINES) is None
    spills = {**SINES, "stack_bytes": 160}
    assert say("register_spills", TAKEN, sass=spills) is not None
    assert slow_path_share(make_context(TAKEN, sass=spills)) == 0.0


def test_sines_of_small_arguments_are_no_fault() -> None:
    assert say("integer_arithmetic", NEVER, sass=SINES) is None
    assert say("register_spills", NEVER, sass=SINES) is None
    assert say("register_spills", sass=SINES) is None  # without counters


def test_the_slow_paths_own_loop_is_not_to_be_unrolled() -> None:
    reduction = (loop(line=5, mix={"integer": 10, "memory": 3, "control": 1}),)
    assert say("rolled_loops", {m.ISSUE: 0.5}, sass={"loops": reduction}) is not None
    assert say("rolled_loops", {m.ISSUE: 0.5}, sass={**SINES, "loops": reduction}) is None


def test_a_tail_wave_gains_what_stood_idle_and_no_more_than_units_leave() -> None:
    half_idle = {m.WAVES: 1.01, m.SM: 45.0, m.FP64_PIPE: 90.0, m.WARP_LATENCY: 6.0}
    found = outlook(make_context(half_idle), Relief(span=0.6))
    assert found is not None
    assert (found.gain, found.limit) == (pytest.approx(1 / 0.6), "the double-precision pipe")
    bounded = outlook(make_context(half_idle | {m.SM: 80.0}), Relief(span=0.6))
    assert bounded is not None and (bounded.gain, bounded.limit) == (1 / 0.8, COMPUTING)


def test_a_tail_and_a_wait_gain_no_more_together_than_a_unit_leaves() -> None:
    seen = make_context({m.DRAM: 55.2, m.ISSUE: 0.2, **stalls(10.0, long_scoreboard=0.5)})
    both = Relief(waits={m.STALL_LONG_SCOREBOARD: 0.0}, span=0.6)
    found = outlook(seen, both)
    assert found is not None and (found.gain, found.limit) == (pytest.approx(1 / 0.6), "DRAM")
    less = outlook(seen, Relief({m.DRAM: 0.5}, both.waits, span=0.6))
    assert less is not None and less.gain == pytest.approx(1 / 0.3)
    unmeasured = outlook(make_context({m.ISSUE: 0.2, **stalls(10.0)}), Relief(span=0.0))
    assert unmeasured is not None and unmeasured.gain <= 100


@pytest.mark.parametrize("tool", [one for one in registry.builtin() if one.name in RELIEFS])
def test_a_stall_that_a_tool_speaks_of_is_one_that_its_relief_takes_away(tool: Tool) -> None:
    """A kernel that does nothing but wait so must gain by the repair."""
    for stall in STALLS:
        waiting = {m.ISSUE: 0.1, m.DRAM: 5.0, m.WARP_LATENCY: 10.0, stall: 9.0}
        finding = tool.examine(make_context(waiting, bound="latency"))
        if finding is None:
            continue
        relief = RELIEFS[tool.name](make_context(waiting, bound="latency"))
        found = outlook(make_context(waiting), relief) if relief is not None else None
        assert found is None or found.gain > LEAST_GAIN, stall


def test_what_gains_nothing_explains_nothing() -> None:
    cause = Finding(
        tool="coalescing", axis="memory", strength=1.0, evidence=(), advice="a", expected_gain=1.03
    )
    symptom = cause.model_copy(update={"tool": "missing_reuse", "expected_gain": 2.5})
    causes = {"missing_reuse": frozenset({"coalescing"})}
    one, other = score([cause, symptom], weights={}, causes=causes)
    assert one.gains_nothing and not other.left_out
    loud = cause.model_copy(update={"expected_gain": 1.5})
    assert score([loud, symptom], weights={}, causes=causes)[1].left_out


def test_a_repair_that_gains_nothing_is_left_out_with_the_limit_named() -> None:
    metrics = {
        m.DRAM: 75.0, m.MEMORY: 75.0, m.SM: 40.0, m.WAVES: 20.0, m.LSU_PIPE: 10.0,
        m.STORE_SECTORS: 4e6, m.STORE_REQUESTS: 1e6, m.STORE_BYTES_PER_SECTOR: 32.0,
        m.BANK_CONFLICTS_LOAD: 6e5, m.SHARED_WAVEFRONTS_LOAD: 1e6,
        m.BANK_CONFLICTS_STORE: 0.0, m.SHARED_WAVEFRONTS_STORE: 0.0, m.SHARED: 40.0,
        **stalls(10.0, short_scoreboard=0.4),
    }  # fmt: skip
    sass = {"shared_loads": {"32": 4}}
    said = guidance(metrics, sass, STREAM)
    assert "bank_conflicts" not in [finding.tool for finding in said.findings]
    assert any(
        note.startswith("left out, as less than 5 % would be gained (limited by DRAM):")
        and "bank_conflicts" in note
        for note in said.notes
    )
    idle = guidance(metrics | {m.DRAM: 20.0, m.MEMORY: 45.0, m.SHARED: 60.0}, sass, STREAM)
    assert "bank_conflicts" in [finding.tool for finding in idle.findings]


LINES = {
    m.LOAD_SECTORS: 3.6e6, m.LOAD_REQUESTS: 1e6, m.LOAD_BYTES_PER_SECTOR: 10.0, m.L1: 90.0,
    m.MEMORY: 90.0, m.L1_HIT: 95.0, m.THREADS_PER_INSTRUCTION: 32.0,
}  # fmt: skip


def test_lanes_that_share_values_within_a_line_of_l1_are_coalesced() -> None:
    assert say("coalescing", LINES) is None
    assert say("coalescing", LINES | {m.L1_HIT: 20.0}) is not None
    assert say("coalescing", LINES | {m.THREADS_PER_INSTRUCTION: 4.0}) is not None
    assert say("coalescing", LINES | {m.LOAD_SECTORS: 8e6}) is not None


def test_bytes_of_asynchronous_copies_are_not_counted() -> None:
    copies = LINES | {m.LOAD_SECTORS: 16e6, m.LOAD_BYTES_PER_SECTOR: 8.0}
    widths = {"global_loads": {"128": 4}}
    assert say("coalescing", copies, sass=widths) is not None
    assert say("coalescing", copies, sass={**widths, "async_copies": 8}) is None


def test_loads_of_bytes_are_a_louder_fault_than_loads_of_words() -> None:
    waiting = {m.DRAM: 20.0, **stalls(10.0, long_scoreboard=0.8)}
    bytes_, words = (
        say("narrow_access", waiting, sass={"global_loads": {width: 8}}, bound="memory")
        for width in ("8", "32")
    )
    assert bytes_ is not None and words is not None
    assert (bytes_.strength, words.strength) == (1.0, pytest.approx(0.6))


def test_a_load_unit_busy_with_shared_memory_does_not_blame_the_width_of_global_loads() -> None:
    busy = {m.LSU_PIPE: 60.0, m.LOAD_REQUESTS: 1e6, m.STORE_REQUESTS: 1e5}
    sass = {"global_loads": {"32": 4}}
    own = busy | {m.SHARED_WAVEFRONTS_LOAD: 1e5, m.SHARED_WAVEFRONTS_STORE: 1e5}
    others = busy | {m.SHARED_WAVEFRONTS_LOAD: 2e7, m.SHARED_WAVEFRONTS_STORE: 1e6}
    assert say("narrow_access", own, sass=sass, bound="compute") is not None
    assert say("narrow_access", others, sass=sass, bound="compute") is None


def test_a_stencil_without_a_tile_loads_again_whatever_its_declared_work() -> None:
    sectors = {m.LOAD_SECTORS: 8e8, m.DRAM_READ_BYTES: 2.7e8, m.L1: 85.0, m.DRAM: 12.0}
    sass = {"global_loads": {"32": 81}}
    assert say("missing_reuse", sectors, sass=sass, work=STREAM) is not None
    once = sectors | {m.LOAD_SECTORS: 1e7}
    assert say("missing_reuse", once, sass=sass, work=STREAM) is None


def test_issue_slots_that_go_into_repeated_loads_do_not_excuse_them() -> None:
    busy = {
        m.LOAD_SECTORS: 4e8, m.DRAM_READ_BYTES: 1.7e7, m.L1: 81.0, m.DRAM: 1.0, m.ISSUE: 0.83,
        m.ALU_PIPE: 72.0, m.FMA_PIPE: 27.0, m.SM: 80.0,
    }  # fmt: skip
    sass = {"global_loads": {"32": 16}}
    assert say("missing_reuse", busy, sass=sass, work=MATMUL) is not None
    assert say("missing_reuse", busy | {m.FMA_PIPE: 90.0}, sass=sass, work=MATMUL) is None


def test_a_marching_plane_is_staged_whatever_it_is_used_for() -> None:
    marching = {
        "global_loads": {"128": 2},
        "shared_stores": {"128": 2},
        "shared_loads": {"32": 36},
        "barriers": 2,
        "loops": (loop(mix={"memory": 40}, global_loads=2, barriers=2),),
    }
    waiting = stalls(14.0, long_scoreboard=0.5, barrier=0.15)
    assert say("async_copy", waiting, sass=marching, work=STREAM) is not None
    scratch = {**marching, "shared_stores": {"32": 1}}
    assert say("async_copy", waiting, sass=scratch, work=STREAM) is None
    for_barriers = stalls(14.0, long_scoreboard=0.05, barrier=0.6)
    assert say("async_copy", for_barriers, sass=marching, work=STREAM) is None
