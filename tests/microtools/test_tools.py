"""Each tool speaks on its evidence, is silent without it, and never on what was not measured."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import (
    Buffer,
    Candidate,
    Cost,
    Evaluation,
    Finding,
    KernelProfile,
    KernelTask,
    Metric,
    Profile,
    SassFacts,
    Timing,
    Verification,
    Workload,
)
from mcts.domain import metrics as m
from microtools import registry
from microtools.tool import Case, MicroTool

ROOT = Path(__file__).parents[2]
TOOLS = {tool.name: tool for tool in registry.BUILTIN}
PLAYBOOK = {
    "memory.coalesced_access", "memory.vectorized_loads", "memory.shared_tiling",
    "memory.shared_padding", "memory.async_copy", "memory.cache_hints", "memory.block_swizzle",
    "memory.register_reuse", "compute.register_tiling", "compute.loop_unrolling",
    "compute.fast_math", "compute.tensor_cores", "compute.warp_primitives",
    "parallelism.split_k", "latency.block_size", "latency.launch_bounds",
    "latency.double_buffering", "latency.work_per_thread", "latency.persistent_grid",
}  # fmt: skip


def make_case(
    metrics: dict[str, float] | None = None,
    *,
    sass: dict[str, Any] | None = None,
    math: Any = "fp32",
) -> Case:
    """A matrix product of 1024 cubed whose kernel shows `metrics` and `sass`."""
    task = KernelTask(
        name="t",
        baseline=Candidate(source="x"),
        reference="r",
        buffers=(Buffer(name="y", role="output", shape=("n",)),),
        workloads=(Workload(name="main", shape={"n": 1024}),),
        cost=Cost(bytes="12 * n * n", flops="2 * n * n * n", math=math),
    )
    kernel = KernelProfile(
        name="k",
        metrics={name: Metric(value=value) for name, value in (metrics or {}).items()},
        sass=SassFacts(**{"instructions": 100, **sass}) if sass is not None else None,
    )
    profile = Profile(kernels=(kernel,))
    timing = Timing(
        median_us=1, low_us=1, high_us=1, baseline_us=1, speedup=1, speedup_low=1,
        speedup_high=1, rounds=1,
    )  # fmt: skip
    evaluation = Evaluation(
        candidate_id="c",
        status="measured",
        verification=Verification(passed=True, rounds=1),
        timing=timing,
        profile=profile,
    )
    return Case(task=task, evaluation=evaluation, profile=profile, kernel=kernel)


LEAST = 12.0 * 1024**2
SPEAKS: dict[str, tuple[dict[str, float], dict[str, Any] | None]] = {
    "coalescing": ({m.LOAD_SECTORS: 3200, m.LOAD_REQUESTS: 100}, {"global_loads": {"32": 1}}),
    "narrow_access": ({}, {"global_loads": {"32": 8, "128": 1}}),
    "bank_conflicts": ({m.BANK_CONFLICTS_LOAD: 50, m.SHARED_WAVEFRONTS_LOAD: 100}, None),
    "excess_traffic": ({m.DRAM_READ_BYTES: 2 * LEAST, m.DRAM_WRITE_BYTES: LEAST}, None),
    "dram_saturated": ({m.DRAM: 92}, None),
    "missing_reuse": ({m.L1: 98, m.DRAM: 1}, None),
    "occupancy_limiter": (
        {m.THEORETICAL_OCCUPANCY: 25, m.LIMIT_REGISTERS: 2, m.LIMIT_WARPS: 8, m.REGISTERS: 168},
        None,
    ),
    "occupancy_shortfall": ({m.THEORETICAL_OCCUPANCY: 100, m.ACHIEVED_OCCUPANCY: 40}, None),
    "register_spills": ({}, {"local_loads": 5, "local_stores": 4, "stack_bytes": 64}),
    "global_latency": ({m.STALL_LONG_SCOREBOARD: 20, m.WARP_LATENCY: 40}, None),
    "barrier_stalls": ({m.STALL_BARRIER: 20, m.WARP_LATENCY: 40}, None),
    "shared_latency": (
        {m.STALL_SHORT_SCOREBOARD: 10, m.STALL_MIO_THROTTLE: 10, m.WARP_LATENCY: 40},
        None,
    ),
    "load_queue": ({m.STALL_LG_THROTTLE: 10, m.WARP_LATENCY: 40}, None),
    "dependent_instructions": ({m.STALL_WAIT: 4, m.STALL_MATH: 3, m.WARP_LATENCY: 10}, None),
    "control_flow": ({m.STALL_BRANCH: 4, m.WARP_LATENCY: 10}, None),
    "write_drain": ({m.STALL_DRAIN: 4, m.WARP_LATENCY: 10}, None),
    "async_copy": (
        {m.STALL_LONG_SCOREBOARD: 4, m.WARP_LATENCY: 10},
        {"shared_stores": {"32": 2}, "global_loads": {"32": 2}, "barriers": 2},
    ),
    "starved_schedulers": ({m.ISSUE: 0.1}, None),
    "crowded_schedulers": ({m.STALL_NOT_SELECTED: 4, m.WARP_LATENCY: 10}, None),
    "small_grid": ({m.WAVES: 0.3, m.GRID: 40, m.MULTIPROCESSORS: 132}, None),
    "tail_wave": ({m.WAVES: 1.1}, None),
    "block_shape": ({m.BLOCK: 48}, None),
    "fma_share": ({m.FFMA: 320, m.INSTRUCTIONS: 100}, None),
    "unfused_arithmetic": ({m.FFMA: 1, m.FADD: 50, m.FMUL: 50}, None),
    "special_functions": ({m.XU_PIPE: 85}, None),
    "divergence": ({m.THREADS_PER_INSTRUCTION: 9}, None),
    "tensor_cores": ({m.TENSOR_PIPE: 0}, None),
}
SILENT: dict[str, tuple[dict[str, float], dict[str, Any] | None]] = {
    "coalescing": ({m.LOAD_SECTORS: 1600, m.LOAD_REQUESTS: 100}, {"global_loads": {"128": 1}}),
    "narrow_access": ({}, {"global_loads": {"128": 4}}),
    "bank_conflicts": ({m.BANK_CONFLICTS_LOAD: 0, m.SHARED_WAVEFRONTS_LOAD: 0}, None),
    "excess_traffic": ({m.DRAM_READ_BYTES: LEAST, m.DRAM_WRITE_BYTES: 0}, None),
    "missing_reuse": ({m.L1: 98, m.DRAM: 80}, None),
    "occupancy_limiter": ({m.THEORETICAL_OCCUPANCY: 25, m.LIMIT_REGISTERS: 2, m.SM: 80}, None),
    "register_spills": ({}, {}),
    "global_latency": ({m.STALL_LONG_SCOREBOARD: 20, m.WARP_LATENCY: 40, m.ISSUE: 0.9}, None),
    "async_copy": (
        {m.STALL_LONG_SCOREBOARD: 4, m.WARP_LATENCY: 10},
        {
            "shared_stores": {"32": 2},
            "global_loads": {"32": 2},
            "barriers": 2,
            "async_copies": 1,
        },
    ),
    "small_grid": ({m.WAVES: 4}, None),
    "tail_wave": ({m.WAVES: 15.5}, None),
    "block_shape": ({m.BLOCK: 256}, None),
    "tensor_cores": ({m.TENSOR_PIPE: 60}, None),
}


def _examine(name: str, metrics: dict[str, float], sass: dict[str, Any] | None) -> Finding | None:
    math = "bf16" if name == "tensor_cores" else "fp32"
    return TOOLS[name].examine(make_case(metrics, sass=sass, math=math))


def test_every_tool_has_a_case_in_which_it_speaks() -> None:
    assert set(SPEAKS) == set(TOOLS)
    assert len(TOOLS) == len(registry.BUILTIN)


@pytest.mark.parametrize("name", sorted(SPEAKS))
def test_speaks_with_evidence_and_known_methods(name: str) -> None:
    finding = _examine(name, *SPEAKS[name])
    assert finding is not None
    assert finding.tool == name
    assert finding.evidence
    assert finding.strength > 0
    assert len(finding.advice) > 60
    assert finding.methods
    assert set(finding.methods) <= PLAYBOOK


@pytest.mark.parametrize("name", sorted(SILENT))
def test_is_silent_without_a_reason(name: str) -> None:
    assert _examine(name, *SILENT[name]) is None


@pytest.mark.parametrize("name", sorted(SPEAKS))
def test_is_silent_where_nothing_was_measured(name: str) -> None:
    assert TOOLS[name].examine(make_case()) is None


@pytest.mark.parametrize("name", sorted(SPEAKS))
def test_implements_the_interface(name: str) -> None:
    assert isinstance(TOOLS[name], MicroTool)
    assert TOOLS[name].affinity


VALUES = st.one_of(st.just(0.0), st.floats(min_value=0, max_value=1e15))


@given(st.dictionaries(st.sampled_from(sorted({k for v in SPEAKS.values() for k in v[0]})), VALUES))
def test_no_combination_of_counters_breaks_a_tool(metrics: dict[str, float]) -> None:
    case = make_case(metrics, sass={"global_loads": {"32": 1}, "local_loads": 1})
    for tool in TOOLS.values():
        finding = tool.examine(case)
        assert finding is None or 0 <= finding.strength <= 1


def test_strength_grows_with_the_evidence() -> None:
    def strength(stall: float) -> float:
        finding = _examine("barrier_stalls", {m.STALL_BARRIER: stall, m.WARP_LATENCY: 100}, None)
        assert finding is not None
        return finding.strength

    assert strength(25) < strength(40) < strength(70)


def test_vector_accesses_are_not_called_uncoalesced() -> None:
    counters = {m.LOAD_SECTORS: 1600.0, m.LOAD_REQUESTS: 100.0}
    assert _examine("coalescing", counters, {"global_loads": {"128": 1, "32": 1}}) is None
    assert _examine("coalescing", counters, {"global_loads": {"32": 1}}) is not None


def test_the_limiter_names_the_resource() -> None:
    finding = _examine("occupancy_limiter", *SPEAKS["occupancy_limiter"])
    assert finding is not None
    assert "limited by registers" in finding.advice
    assert "168 registers per thread" in finding.advice


def test_registered_entry_points_are_the_built_in_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    registered = project.get("entry-points", {}).get(registry.GROUP)
    if registered is None:
        pytest.skip("the built-in tools are not registered in pyproject.toml")
    assert set(registered) == set(TOOLS)


SOFTMAX_LIKE = {"global_loads": {"32": 8}, "shared_stores": {"32": 2}, "barriers": 9}
TILED = {"global_loads": {"128": 2}, "shared_stores": {"32": 8}, "barriers": 2}
WAITING = {m.WARP_LATENCY: 10.0, m.STALL_LONG_SCOREBOARD: 6.0, m.ISSUE: 0.2}


def test_the_scratch_of_a_reduction_is_no_tile() -> None:
    assert TOOLS["async_copy"].examine(make_case(WAITING, sass=SOFTMAX_LIKE)) is None
    assert TOOLS["async_copy"].examine(make_case(WAITING, sass=TILED)) is not None


def test_advice_on_latency_leaves_out_what_is_done_or_does_not_apply() -> None:
    def advice(sass: dict[str, Any], **more: float) -> str:
        finding = TOOLS["global_latency"].examine(make_case({**WAITING, **more}, sass=sass))
        assert finding is not None
        return finding.advice

    assert "cp.async" in advice(TILED) and "128 bits" not in advice(TILED)
    assert "cp.async" not in advice(SOFTMAX_LIKE) and "128 bits" in advice(SOFTMAX_LIKE)
    assert "occupancy" in advice(TILED, **{m.ACHIEVED_OCCUPANCY: 20.0})
    assert "occupancy" not in advice(TILED, **{m.ACHIEVED_OCCUPANCY: 90.0})


def test_a_saturated_memory_is_not_told_to_fetch_more_at_once() -> None:
    assert TOOLS["global_latency"].examine(make_case({**WAITING, m.DRAM: 85.0})) is None
    assert TOOLS["dram_saturated"].examine(make_case({m.DRAM: 85.0})) is not None


def test_uncoalesced_stores_beside_many_loads_are_not_worth_a_word() -> None:
    stores = {m.STORE_SECTORS: 320.0, m.STORE_REQUESTS: 10.0}
    loads = {m.LOAD_SECTORS: 4e5, m.LOAD_REQUESTS: 1e5}
    narrow = {"global_loads": {"32": 1}, "global_stores": {"32": 1}}
    assert TOOLS["coalescing"].examine(make_case(stores, sass=narrow)) is not None
    assert TOOLS["coalescing"].examine(make_case({**stores, **loads}, sass=narrow)) is None


def test_excess_traffic_is_no_matter_where_memory_is_idle() -> None:
    moved = {m.DRAM_READ_BYTES: 4.0 * 12 * 1024**2, m.DRAM_WRITE_BYTES: 0.0}
    assert TOOLS["excess_traffic"].examine(make_case({**moved, m.DRAM: 3.0})) is None
    assert TOOLS["excess_traffic"].examine(make_case({**moved, m.DRAM: 70.0})) is not None
