"""Where real kernels stand, and how method slots are shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import (
    AxisGap,
    Buffer,
    Candidate,
    Ceilings,
    Cost,
    Hardware,
    KernelTask,
    Metric,
    Roofline,
    Workload,
)
from mcts.domain import metrics as m
from profilers.ncu import NcuKernel, parse_csv
from profilers.roofline import axis_budget, classify, speed_of_light_us

DATA = Path(__file__).parents[1] / "data" / "ncu"
# Round figures near what such a device reaches; the tests ask for classes, not for digits.
DEVICE = Hardware(
    name="test device",
    ceilings=Ceilings(copy_gb_per_s=4000, fp32_tflop_per_s=55, launch_us=2.5),
)


def _task(bytes_: str, flops: str, **shape: int) -> KernelTask:
    return KernelTask(
        name="t",
        baseline=Candidate(source="x"),
        reference="r",
        buffers=(Buffer(name="y", role="output", shape=("n",)),),
        workloads=(Workload(name="main", shape=shape),),
        cost=Cost(bytes=bytes_, flops=flops),
    )


SAXPY = _task("12 * n", "2 * n", n=1 << 26)
MATMUL = _task("12 * n * n", "2 * n * n * n", n=2048)


@pytest.fixture(scope="module")
def kernels() -> dict[str, NcuKernel]:
    report = parse_csv((DATA / "collected.csv").read_text())
    return {kernel.name: kernel for kernel in report.kernels}


def _place(task: KernelTask, kernel: NcuKernel, hardware: Hardware = DEVICE) -> Roofline:
    return classify(
        task=task,
        shape=task.timed_workload.shape,
        metrics=kernel.metrics,
        hardware=hardware,
        time_us=kernel.metrics[m.DURATION].value / 1e3,
    )


def test_saxpy_is_memory_bound_at_dram(kernels: dict[str, NcuKernel]) -> None:
    place = _place(SAXPY, kernels["saxpy"])
    assert place.bound == "memory"
    assert place.confidence >= 0.9
    assert "DRAM is the limit" in place.reason
    assert place.gap.memory < 0.2


def test_strided_saxpy_is_memory_bound_and_moves_too_much(kernels: dict[str, NcuKernel]) -> None:
    place = _place(SAXPY, kernels["saxpy_strided"])
    assert place.bound == "memory"
    assert place.gap.memory > 0.9
    assert not place.near_peak
    assert "times the task's least" in place.reason
    assert place.method_budget["memory"] == 2


def test_naive_matmul_is_not_dram_bound(kernels: dict[str, NcuKernel]) -> None:
    place = _place(MATMUL, kernels["naive_mm"])
    assert place.bound == "memory"
    assert "L1 is the limit" in place.reason
    assert "DRAM 0.3 %" in place.reason
    assert place.confidence <= 0.5, "the votes disagree: the task itself is compute-bound"
    assert place.gap.compute > 0.8
    assert not place.near_peak


def _metrics(**values: float) -> dict[str, Metric]:
    names = {"sm": m.SM, "dram": m.DRAM, "l1": m.L1, "l2": m.L2, "issue": m.ISSUE}
    return {names[key]: Metric(value=value) for key, value in values.items()}


def _classify(task: KernelTask, time_us: float, **values: float) -> Roofline:
    shape = task.timed_workload.shape
    metrics = _metrics(**values)
    return classify(task=task, shape=shape, metrics=metrics, hardware=DEVICE, time_us=time_us)


def test_nothing_busy_is_latency() -> None:
    assert _classify(SAXPY, 900, sm=20, dram=30, l1=10, l2=25, issue=0.2).bound == "latency"


def test_both_busy_is_mixed() -> None:
    assert _classify(SAXPY, 300, sm=75, dram=72, l1=40, l2=70, issue=0.6).bound == "mixed"


def test_busy_multiprocessors_are_compute() -> None:
    place = _classify(MATMUL, 500, sm=90, dram=10, l1=50, l2=20, issue=0.9)
    assert (place.bound, place.confidence) == ("compute", 0.9)


def test_a_kernel_as_short_as_a_launch_is_launch_bound() -> None:
    tiny = _task("12 * n", "2 * n", n=1024)
    assert _classify(tiny, 3.0, sm=1, dram=1, l1=1, l2=1).bound == "launch"


def test_near_peak_at_the_roof_in_spite_of_the_compute_gap() -> None:
    floor = speed_of_light_us(SAXPY, SAXPY.timed_workload.shape, DEVICE.ceilings)
    assert floor is not None
    at_roof = _classify(SAXPY, 1.05 * floor, sm=30, dram=93, l1=30, l2=90, issue=0.2)
    assert at_roof.near_peak
    assert at_roof.gap.compute > 0.9
    wasteful = _classify(SAXPY, 2 * floor, sm=30, dram=97, l1=30, l2=90, issue=0.2)
    assert not wasteful.near_peak, "a busy DRAM that moves twice the bytes has half its way to go"


def test_without_counters_only_a_time_near_the_floor_tells_the_class() -> None:
    floor = speed_of_light_us(SAXPY, SAXPY.timed_workload.shape, DEVICE.ceilings)
    assert floor is not None
    assert _classify(SAXPY, 1.3 * floor).bound == "memory"
    assert _classify(SAXPY, 9 * floor).bound == "unknown"


def test_nothing_known_is_unknown_with_full_gaps() -> None:
    bare = SAXPY.model_copy(update={"cost": None})
    place = classify(
        task=bare, shape=bare.timed_workload.shape, metrics={}, hardware=Hardware(name="x"),
        time_us=5,
    )  # fmt: skip
    assert (place.bound, place.confidence) == ("unknown", 0.0)
    assert place.speed_of_light_us is None
    assert not place.near_peak
    assert place.method_budget == {"compute": 1, "memory": 1, "latency": 1}


def test_speed_of_light() -> None:
    shape = {"n": 2048}
    ceilings = Ceilings(copy_gb_per_s=4000, fp32_tflop_per_s=50)
    assert speed_of_light_us(MATMUL, shape, ceilings) == pytest.approx(2 * 2048**3 / 50e6)
    assert speed_of_light_us(SAXPY, {"n": 10**6}, ceilings) == pytest.approx(3.0)
    assert speed_of_light_us(SAXPY, {"n": 10**6}, None) is None


def test_axis_budget_of_the_seed_example() -> None:
    gap = AxisGap(compute=0.92, memory=0.57, latency=0.61)
    assert axis_budget(gap) == {"compute": 2, "memory": 0, "latency": 1}


GAPS = st.floats(min_value=0, max_value=1)


@given(GAPS, GAPS, GAPS)
def test_axis_budget_properties(compute: float, memory: float, latency: float) -> None:
    gap = AxisGap(compute=compute, memory=memory, latency=latency)
    budget = axis_budget(gap)
    open_axes = sum(value > 0 for value in (compute, memory, latency))
    assert all(0 <= slots <= 2 for slots in budget.values())
    assert sum(budget.values()) == min(3, 2 * open_axes)
    for one in budget:
        assert budget[one] == 0 or getattr(gap, one) > 0
        for other in budget:
            if getattr(gap, one) > getattr(gap, other):
                assert budget[one] >= budget[other]
