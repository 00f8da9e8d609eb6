"""What all tools together say: nothing about the healthy, one thing about one fault."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import get_args

import pytest

from mcts.domain import BoundClass, Guidance, Profile, Work
from mcts.domain import metrics as m
from microtools.advisor import RooflineAdvisor
from tests.microtools.contexts import H200, MATMUL, kernel, loop, roofline, stalls
from tests.microtools.recorded import fastest_first, recording, three_kernels
from tests.microtools.well_tuned import GEMM, HEALTHY, STREAMING, WARP_SPECIALISED, Healthy


def advise(
    context: Healthy,
    *,
    bound: BoundClass | None = None,
    without: tuple[str, ...] = (),
    **change: float,
) -> Guidance:
    """Guidance for a healthy profile, changed in some counters."""
    metrics = {**context.metrics, **{getattr(m, name): value for name, value in change.items()}}
    metrics = {name: value for name, value in metrics.items() if name not in without}
    profile = Profile(
        kernels=(kernel(metrics, sass=context.sass),),
        roofline=roofline(bound or context.bound),
        hardware=H200,
    )
    return RooflineAdvisor().examine(work=context.work, profile=profile, time_us=130.0)


def tools(guidance: Guidance) -> list[str]:
    return [finding.tool for finding in guidance.findings]


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("bound", get_args(BoundClass))
def test_no_tool_finds_fault_with_a_healthy_kernel_in_any_class(
    name: str, bound: BoundClass
) -> None:
    assert set(tools(advise(HEALTHY[name], bound=bound))) <= HEALTHY[name].says


NEW = (
    m.LOAD_BYTES_PER_SECTOR, m.STORE_BYTES_PER_SECTOR, m.LOCAL_LOADS, m.LOCAL_STORES,
    m.ATOMIC_REQUESTS, m.REDUCTION_REQUESTS, m.SHARED_ATOMICS, m.L2_ATOMIC_UNIT, m.SHARED,
    m.LIMIT_BARRIERS, m.SHARED_PER_BLOCK, m.ACTIVE_THREADS_PER_INSTRUCTION, m.UNIFORM_BRANCHES,
    m.ADU_PIPE, m.ALU_PIPE, m.FP64_PIPE, m.LSU_PIPE, m.STALL_GMMA,
)  # fmt: skip


@pytest.mark.parametrize("name", HEALTHY)
def test_no_tool_finds_fault_with_a_healthy_kernel_without_newer_counters(name: str) -> None:
    assert set(tools(advise(HEALTHY[name], without=NEW))) <= HEALTHY[name].says


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_profiles_are_complete(name: str) -> None:
    """A counter that is missing could not have raised a false alarm."""
    known = {value for key, value in vars(m).items() if key.isupper() and isinstance(value, str)}
    lacking = {value for value in known - set(HEALTHY[name].metrics) if "{" not in value}
    assert not lacking


def test_memory_at_its_limit_is_said_once_and_softly() -> None:
    (finding,) = advise(STREAMING).findings
    assert finding.tool == "dram_saturated" and finding.strength < 0.5


def test_one_planted_fault_has_one_name() -> None:
    strided = advise(
        STREAMING, LOAD_SECTORS=3.2e7, LOAD_BYTES_PER_SECTOR=4, DRAM=40, L2=78, MEMORY=78
    )
    assert tools(strided) == ["coalescing"]
    conflicted = advise(
        GEMM, BANK_CONFLICTS_LOAD=2.4e8, L1=90, MEMORY=90, SHARED=88, FMA_PIPE=30, SM=50, ISSUE=0.3
    )
    assert tools(conflicted)[0] == "bank_conflicts" and len(conflicted.findings) <= 2
    few = advise(GEMM, WAVES=0.2, GRID=40, SM=20, MEMORY=14, L1=14, FMA_PIPE=19, ISSUE=0.2)
    assert tools(few) == ["small_grid"]
    serial = replace(WARP_SPECIALISED, sass={**WARP_SPECIALISED.sass, "serial_wgmma_ops": 16})
    assert tools(advise(serial, TENSOR_PIPE=60, SM=60)) == ["serialised_wgmma"]


@pytest.mark.parametrize(
    ("tool", "change", "sass"),
    [
        ("global_latency", stalls(long_scoreboard=0.8), {}),
        ("dependent_instructions", stalls(wait=0.8), {}),
        ("rolled_loops", {}, {"loops": (loop(line=5, mix={"integer": 12, "fp32": 4}),)}),
    ],
)
def test_a_thin_grid_leaves_room_for_what_its_warps_do(
    tool: str, change: dict[str, float], sass: dict[str, object]
) -> None:
    def said(blocks: int) -> list[str]:
        grid = {m.WAVES: 0.2, m.GRID: blocks, m.MULTIPROCESSORS: 132, m.ISSUE: 0.2}
        profile = Profile(
            kernels=(kernel(grid | change, sass=sass),),
            roofline=roofline("latency"),
            hardware=H200,
        )
        return tools(RooflineAdvisor().examine(work=MATMUL, profile=profile, time_us=100.0))

    assert said(40) == ["small_grid"]
    assert set(said(132)) >= {"small_grid", tool}


def test_a_symptom_left_out_is_noted_with_its_cause() -> None:
    strided = advise(STREAMING, LOAD_SECTORS=3.2e7, LOAD_BYTES_PER_SECTOR=4, DRAM=40, L2=78)
    (line,) = [note for note in strided.notes if note.startswith("left out as consequences")]
    assert "global_latency (of coalescing)" in line


def _seen(name: str, work: Work | None) -> Guidance:
    found = three_kernels()[name]
    profile = Profile(kernels=(found,), hardware=H200)
    return RooflineAdvisor().examine(work=work, profile=profile, time_us=None)


SAXPY = Work(bytes=3 * 2**28, flops=2**27)


def test_three_real_kernels_get_their_diagnoses() -> None:
    assert set(tools(_seen("saxpy", SAXPY))) <= {"global_latency"}
    assert tools(_seen("saxpy_strided", SAXPY))[0] == "coalescing"
    assert len(tools(_seen("saxpy_strided", SAXPY))) <= 3
    assert tools(_seen("naive_mm", MATMUL.model_copy(update={"bytes": 3 * 2**24})))[0] == (
        "missing_reuse"
    )


def _recorded(task: str, profile: Profile) -> Guidance:
    return RooflineAdvisor().examine(work=recording(task)[1], profile=profile, time_us=None)


@pytest.mark.parametrize("task", ["gemm_fp32", "row_softmax", "transpose"])
def test_the_best_recorded_variants_are_left_in_peace(task: str) -> None:
    for slowdown, profile in fastest_first(task):
        if slowdown > 1.01:
            break
        strengths = [item.tool for item in _recorded(task, profile).findings if item.strength > 0.5]
        assert not strengths, f"{slowdown:.3f}: {strengths}"


@pytest.mark.parametrize("task", ["gemm_fp32", "row_softmax", "transpose"])
def test_the_worse_a_recorded_variant_the_louder_the_advice(task: str) -> None:
    variants = fastest_first(task)
    quarter = len(variants) // 4
    strengths = [
        max((item.strength for item in _recorded(task, profile).findings), default=0.0)
        for _, profile in variants
    ]
    assert statistics.mean(strengths[:quarter]) < 0.6 * statistics.mean(strengths[-quarter:])


@pytest.mark.parametrize("task", ["gemm_fp32", "row_softmax", "transpose"])
def test_recorded_variants_get_few_words(task: str) -> None:
    counts = [len(_recorded(task, profile).findings) for _, profile in fastest_first(task)]
    assert statistics.mean(counts) < 3
    assert max(counts) <= 6


@pytest.mark.parametrize(
    ("task", "slowdown", "tool"),
    [
        ("gemm_fp32", 6.0, "missing_reuse"),  # a thread per output, no tile
        ("gemm_fp32", 11.0, "missing_reuse"),  # the same, with the caches half idle
        ("gemm_fp32", 9.0, "register_spills"),
        ("row_softmax", 70.0, "small_grid"),  # a thread per row, in 16 blocks
        ("transpose", 9.0, "coalescing"),  # columns written one by one
    ],
)
def test_a_slow_recorded_variant_is_told_why(task: str, slowdown: float, tool: str) -> None:
    profile = min(fastest_first(task), key=lambda found: abs(found[0] - slowdown))[1]
    assert tools(_recorded(task, profile))[0] == tool
