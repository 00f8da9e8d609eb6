"""Where real kernels stand, what a call's kernels and timeline add, and how slots are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import (
    AxisGap,
    BoundClass,
    Ceilings,
    Hardware,
    KernelProfile,
    MemoryLevel,
    Metric,
    Profile,
    Roofline,
    TimelineFacts,
    Work,
)
from mcts.domain import metrics as m
from profilers.ncu.pages import parse_csv
from profilers.roofline import axis_budget, classify
from profilers.roofline.floors import speed_of_light_us
from profilers.roofline.utilisation import utilisation

# Round figures near what such a device reaches; the tests ask for classes, not for digits.
CEILINGS = Ceilings(
    copy_gb_per_s=4000, l2_gb_per_s=6000, fp32_tflop_per_s=60, bf16_tflop_per_s=800, launch_us=2.5
)
DEVICE = Hardware(name="test device", multiprocessors=132, ceilings=CEILINGS)
N = 1 << 26
SAXPY_WORK = Work(bytes=12 * N, flops=2 * N)
MATMUL_WORK = Work(bytes=12 * 2048**2, flops=2 * 2048**3)

# Three kernels as Nsight Compute saw them on an H200 (2025.3, `--set full`, clocks not locked).
SEEN = Path(__file__).parents[2] / "data" / "ncu" / "three_kernels.csv"
SAXPY, STRIDED, NAIVE_MATMUL = (
    {name: metric.value for name, metric in kernel.metrics.items()}
    for kernel in parse_csv(SEEN.read_text()).kernels
)
SAXPY_NS = SAXPY[m.DURATION]


def _kernel(metrics: dict[str, float], name: str = "k", launches: int = 1) -> KernelProfile:
    values = {key: Metric(value=value) for key, value in metrics.items()}
    return KernelProfile(name=name, launches=launches, metrics=values)


def _place(
    work: Work | None,
    *kernels: dict[str, float] | KernelProfile,
    time_us: float | None = None,
    **profile: Any,
) -> Roofline:
    seen = tuple(_kernel(item) if isinstance(item, dict) else item for item in kernels)
    described = Profile(kernels=seen, **{"hardware": DEVICE, **profile})
    found = classify(work=work, profile=described, time_us=time_us)
    assert found is not None
    return found


def test_saxpy_is_memory_bound_at_dram() -> None:
    place = _place(SAXPY_WORK, SAXPY, time_us=230.5)
    assert (place.bound, place.level, place.confidence) == ("memory", "DRAM", 0.9)
    assert place.reason.startswith("DRAM is the limit")
    assert place.gap.memory == pytest.approx(0.126, abs=0.01)
    assert place.achieved_gb_per_s == pytest.approx(12 * N / 230.5e-6 / 1e9)
    assert place.achieved_tflop_per_s == pytest.approx(2 * N / 230.5e-6 / 1e12)


def test_l2_that_only_serves_dram_is_not_the_limit() -> None:
    assert _place(None, SAXPY, hardware=None).level == "DRAM", "L2 reads 79.9 %, DRAM 70.9 %"
    for dram, level in ((63.0, "DRAM"), (50.0, "L2")):
        old = {m.SM: 20.0, m.DRAM: dram, m.L2: 82.0, m.L1: 15.0}  # without Nsight's own maximum
        assert _place(None, old).level == level


def test_strided_saxpy_is_memory_bound_at_dram_and_moves_too_much() -> None:
    place = _place(SAXPY_WORK, STRIDED, time_us=4163.5)
    assert (place.bound, place.level) == ("memory", "DRAM")
    assert place.confidence == 0.9, "72 % of what a copy reaches on this device"
    alone = _place(None, STRIDED, hardware=Hardware(name="without ceilings"))
    assert alone.confidence == 0.5, (
        "Nsight's memory throughput is only 4 points above the threshold"
    )
    assert place.gap.memory > 0.9
    assert "14.87 times the least" in place.reason
    assert place.method_budget["memory"] == 2
    assert not place.near_peak


def test_naive_matmul_is_bound_by_l1_and_not_by_dram() -> None:
    place = _place(MATMUL_WORK, NAIVE_MATMUL, time_us=3132.8)
    assert (place.bound, place.level, place.confidence) == ("memory", "L1", 0.5)
    assert "compute-bound: this limit can be lifted" in place.reason
    assert place.gap.compute > 0.8
    assert not place.near_peak


def test_work_that_only_needs_dram_can_be_relieved_of_l1() -> None:
    place = _place(SAXPY_WORK, {**NAIVE_MATMUL, m.DURATION: 900_000}, time_us=900)
    assert (place.bound, place.level, place.confidence) == ("memory", "L1", 0.7)
    assert "L1 can be relieved" in place.reason


def test_without_work_and_ceilings_the_counters_decide_alone() -> None:
    places = [_place(None, kernel, hardware=None) for kernel in (SAXPY, STRIDED, NAIVE_MATMUL)]
    assert [place.level for place in places] == ["DRAM", "DRAM", "L1"]
    assert [place.bound for place in places] == ["memory"] * 3
    assert all(place.speed_of_light_us is None for place in places)
    assert places[0].gap.memory == pytest.approx(0.29, abs=0.001)
    assert not any(place.near_peak for place in places)


QUIET = {m.SM: 20.0, m.MEMORY: 30.0, m.DRAM: 30.0, m.L2: 25.0, m.L1: 10.0, m.ISSUE: 0.2,
         m.LSU_PIPE: 8.0, m.FMA_PIPE: 10.0, m.DURATION: 100_000}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "bound", "level"),
    [
        ({}, "latency", None),
        ({m.SM: 91.0, m.FMA_PIPE: 91.5, m.ISSUE: 0.93}, "compute", None),
        ({m.SM: 88.0, m.ISSUE: 0.88}, "compute", None),
        ({m.SM: 92.0, m.FP64_PIPE: 92.0}, "compute", None),
        ({m.SM: 85.0, m.XU_PIPE: 86.0}, "compute", None),
        ({m.SM: 75.0, m.TENSOR_PIPE: 76.0, m.ISSUE: 0.1}, "compute", None),
        ({m.SM: 70.0, m.ALU_PIPE: 72.0, m.DRAM: 72.0, m.MEMORY: 72.0}, "mixed", "DRAM"),
        ({m.SM: 92.0, m.FMA_PIPE: 92.0, m.L1: 70.0, m.MEMORY: 70.0}, "compute", None),
        ({m.MEMORY: 82.0, m.L2: 82.0}, "memory", "L2"),
        ({m.L2_ATOMIC_UNIT: 74.0}, "memory", "L2"),
        ({m.SM: 93.0, m.LSU_PIPE: 94.0, m.L1: 95.0, m.MEMORY: 95.0, m.SHARED: 90.0}, "memory",
         "shared"),
        ({m.L1: 95.0, m.MEMORY: 95.0, m.SHARED: 20.0}, "memory", "L1"),
        ({m.L1: 95.0, m.MEMORY: 95.0, m.DRAM: 67.0}, "memory", "L1"),
        ({m.L1: 75.0, m.MEMORY: 75.0, m.DRAM: 72.0}, "memory", "DRAM"),
        ({m.L1: 67.0, m.MEMORY: 67.0, m.L2: 59.0}, "memory", "L1"),
        ({m.SM: 80.0, m.LSU_PIPE: 81.0}, "memory", "L1"),
        ({m.L2: 64.0, m.DRAM: 45.0, m.MEMORY: 46.0}, "latency", None),
        ({m.SM: 70.0}, "compute", None),
        ({m.SM: 62.0, m.LSU_PIPE: 57.0}, "latency", None),
    ],
    ids=["nothing", "fma", "issue", "fp64", "xu", "tensor", "both", "tiles", "l2", "atomics",
         "shared", "l1", "l1 before dram", "dram before l1", "l1 before l2", "load queue",
         "l2 by prefetch", "other unit", "memory instructions"],
)  # fmt: skip
def test_the_busy_unit_decides_the_class(
    changes: dict[str, float], bound: str, level: str | None
) -> None:
    place = _place(None, {**QUIET, **changes})
    assert (place.bound, place.level) == (bound, level)


def test_l2_is_held_against_what_a_probe_reads_from_it() -> None:
    hits = {m.L2_SECTORS: 14_000_000.0, m.L2_HIT: 98.0}  # 4.4 TB/s of 6 that can be reached
    assert _place(None, {**QUIET, **hits}).level == "L2"
    assert _place(None, {**QUIET, **hits, m.L2_HIT: 30.0}).bound == "latency"


def _moved(read: float, written: float) -> dict[str, float]:
    """Counters of a kernel that reads and writes these GB/s for 0.1 ms."""
    return {**QUIET, m.DRAM_READ_BYTES: read * 1e5, m.DRAM_WRITE_BYTES: written * 1e5}


PROBED = Hardware(name="test device", ceilings=Ceilings(copy_gb_per_s=4000, read_gb_per_s=4400))


@pytest.mark.parametrize(
    ("read", "written", "percent"),
    [
        (4400.0, 0.0, 100.0),  # only reads
        (2000.0, 2000.0, 100.0),  # a copy
        (0.0, 2000.0, 50.0),  # more writes than a copy's: nothing was probed there
        (3150.0, 1050.0, 100.0),  # halfway between a read and a copy
        (2200.0, 0.0, 50.0),
        (6000.0, 0.0, 100.0),  # no more than all
        (100.0, 100.0, 30.0),  # the counter, where it says more
    ],
)
def test_dram_is_held_against_what_probes_get_from_it(
    read: float, written: float, percent: float
) -> None:
    used = utilisation(_kernel(_moved(read, written)), PROBED)
    assert used.dram == pytest.approx(percent)


def test_without_ceilings_bytes_or_time_dram_has_its_counter_alone() -> None:
    busy = _moved(2000.0, 2000.0)
    assert utilisation(_kernel(busy), None).dram == 30.0
    assert utilisation(_kernel(busy), Hardware(name="x")).dram == 30.0
    for lacking in (m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.DURATION):
        known = {name: value for name, value in busy.items() if name != lacking}
        assert utilisation(_kernel(known), PROBED).dram == 30.0
    copy_only = Hardware(name="x", ceilings=Ceilings(copy_gb_per_s=4000))
    assert utilisation(_kernel(_moved(2000.0, 0.0)), copy_only).dram == 50.0


def test_dram_near_its_measured_ceiling_is_the_limit_below_nsights_threshold() -> None:
    streaming = {**_moved(1300.0, 1300.0), m.DRAM: 56.0, m.MEMORY: 56.0}
    assert _place(None, streaming, hardware=None).bound == "latency"
    place = _place(None, streaming, hardware=PROBED)
    assert (place.bound, place.level) == ("memory", "DRAM")


def test_a_grid_smaller_than_the_device_is_no_compute_limit() -> None:
    few = {**QUIET, m.SM: 5.5, m.FMA_PIPE: 92.0, m.ISSUE: 0.95, m.GRID: 8, m.MULTIPROCESSORS: 132}
    place = _place(None, few)
    assert place.bound == "latency"
    assert "only 6% of the multiprocessors get a block" in place.reason
    assert place.gap.latency >= 0.7, "what the few busy ones reach is not what the device reaches"


@pytest.mark.parametrize(("dram", "confidence"), [(80.0, 0.7), (62.0, 0.5), (57.0, 0.5)])
def test_a_narrow_decision_is_a_doubtful_one(dram: float, confidence: float) -> None:
    assert _place(None, {**QUIET, m.DRAM: dram, m.MEMORY: dram}).confidence == confidence


def test_missing_counters_leave_what_is_busy() -> None:
    assert _place(None, {m.DRAM: 85.0}).bound == "memory"
    assert _place(None, {m.SM: 85.0}).bound == "compute"
    assert _place(None, {m.SM: 85.0, m.FMA_PIPE: 10.0}).bound == "compute"
    for levels in ({}, {m.DRAM: 65.0}):
        place = _place(None, {m.MEMORY: 85.0, m.SM: 20.0, **levels})
        assert (place.bound, place.level) == ("memory", None)
    assert _place(None, {m.DRAM: 20.0}).bound == "unknown"


def test_tensor_work_is_held_against_the_tensor_ceiling() -> None:
    flops, moved = 2 * 4096**3, 6 * 4096**2
    ridges = {
        unit: _place(Work(bytes=moved, flops=flops, math=unit), time_us=400).ridge_flop_per_byte
        for unit in ("fp32", "tf32", "bf16", "fp16", "fp64", "int32")
    }
    assert ridges == {
        "fp32": 15, "tf32": 100, "bf16": 200, "fp16": 200, "fp64": None, "int32": None
    }  # fmt: skip


def _timeline(**facts: Any) -> TimelineFacts:
    return TimelineFacts(**{"source": "cupti", "span_us": 1000.0, "busy_us": 1000.0, **facts})


def test_a_kernel_as_short_as_a_launch_is_launch_bound() -> None:
    tiny = Work(bytes=12 * 1024, flops=2 * 1024)
    assert _place(tiny, SAXPY, time_us=6.0).bound == "launch"
    assert _place(tiny, SAXPY, time_us=230.0).bound == "memory"


def test_many_launches_share_the_time_of_a_call() -> None:
    assert _place(None, _kernel(SAXPY, launches=50), time_us=400.0).bound == "launch"
    assert _place(None, _kernel(SAXPY, launches=5), time_us=400.0).bound == "memory"


def test_without_a_measured_launch_ten_microseconds_are_short() -> None:
    place = _place(None, SAXPY, time_us=6.0, hardware=None)
    assert (place.bound, place.confidence) == ("launch", 0.7)
    assert _place(None, SAXPY, time_us=12.0, hardware=None).bound == "memory"


@pytest.mark.parametrize(
    ("facts", "bound"),
    [
        ({"kernels": 40, "gap_us": 350.0}, "launch"),
        ({"kernels": 40, "gap_us": 250.0}, "memory"),
        ({"kernels": 40, "gap_us": 250.0, "short_kernels": 30}, "launch"),
        ({"kernels": 4, "gap_us": 900.0}, "memory"),
        ({"kernels": 40, "calls": 40, "gap_us": 900.0}, "memory"),
        ({"kernels": 40, "gap_us": 900.0, "first_use_us": 999.0}, "launch"),
    ],
    ids=["idle", "busy", "short kernels", "few kernels", "one kernel a call", "after first use"],
)
def test_a_device_that_waits_for_work_is_launch_bound(facts: dict[str, Any], bound: str) -> None:
    place = _place(None, SAXPY, time_us=1000.0, timeline=_timeline(**facts))
    assert place.bound == bound


def test_launches_of_many_kernels_are_judged_by_their_gaps_alone() -> None:
    short = _kernel(SAXPY, launches=40)  # 2.5 us each: as long as an empty launch
    assert _place(None, short, time_us=100.0).bound == "launch"
    full = _timeline(kernels=40, short_kernels=40, span_us=100.0, busy_us=100.0)
    assert _place(None, short, time_us=100.0, timeline=full).bound == "memory"
    gaps = _timeline(kernels=40, short_kernels=40, span_us=100.0, busy_us=70.0, gap_us=30.0)
    place = _place(None, short, time_us=100.0, timeline=gaps)
    assert place.bound == "launch" and "does nothing for 30% of the time" in place.reason
    few = _timeline(kernels=4, short_kernels=4, span_us=10.0, busy_us=10.0)
    assert _place(None, SAXPY, time_us=10.0, timeline=few).bound == "launch", "gaps do not tell"


@pytest.mark.parametrize(
    ("facts", "bound"),
    [
        ({"busy_us": 249.0}, "launch"),
        ({"busy_us": 250.0}, "memory"),
        ({"busy_us": 249.0, "first_use_us": 100.0}, "memory"),
        ({"busy_us": 24.0, "first_use_us": 900.0}, "launch"),
        ({"busy_us": 10.0, "calls": 3}, "memory"),
        ({"busy_us": 0.0, "kernels": 0}, "memory"),
        ({"busy_us": 10.0, "first_use_us": 1000.0}, "memory"),
    ],
    ids=["waits", "runs", "runs after first use", "waits after first use", "repeated calls",
         "no kernel seen", "nothing but first use"],
)  # fmt: skip
def test_a_program_whose_kernels_hardly_run_is_limited_by_its_host(
    facts: dict[str, Any], bound: str
) -> None:
    timeline = _timeline(**{"source": "nsys", "kernels": 3, **facts})
    assert _place(None, SAXPY, time_us=1000.0, timeline=timeline).bound == bound


def test_a_host_that_limits_is_named_with_what_the_device_does_meanwhile() -> None:
    waiting = {"source": "nsys", "kernels": 3, "busy_us": 100.0}
    place = _place(None, SAXPY, time_us=1000.0, timeline=_timeline(**waiting))
    assert place.reason == (
        "Kernels run for 10% of the program's time on the device: the host is the limit."
    )
    assert (place.level, place.confidence) == (None, 0.9)
    copying = _timeline(**waiting, copy_us=600.0)
    assert "copies for 60%: the host" in _place(None, SAXPY, timeline=copying).reason


def test_idle_time_counts_in_the_latency_gap() -> None:
    idle = _timeline(kernels=40, gap_us=500.0)
    assert _place(None, SAXPY, time_us=1000.0).gap.latency == pytest.approx(0.147, abs=0.01)
    place = _place(None, SAXPY, time_us=1000.0, timeline=idle)
    assert place.gap.latency == pytest.approx(0.573, abs=0.01)
    unprobed = _place(None, SAXPY, time_us=1000.0, timeline=idle, hardware=None)
    assert unprobed.gap.latency == pytest.approx(0.645, abs=0.01), "of the datasheet's peak"


def test_the_class_with_most_time_wins() -> None:
    busy = {**QUIET, m.SM: 90.0, m.FMA_PIPE: 90.0}
    compute = [_kernel({**busy, m.DURATION: 150_000}, name) for name in ("first", "second")]
    place = _place(None, *compute, _kernel(SAXPY, "saxpy"))
    assert place.bound == "compute"
    assert place.reason.startswith("first (28% of the kernels' time)")
    assert "57% of the time" in place.reason
    assert place.confidence < 0.7
    alone = _place(None, compute[0], _kernel(SAXPY, "saxpy"))
    assert (alone.bound, alone.level) == ("memory", "DRAM")


def test_launches_weigh_like_time_and_like_traffic() -> None:
    busy = _kernel({**QUIET, m.SM: 90.0, m.FMA_PIPE: 90.0, m.DURATION: 100_000}, "a", launches=5)
    assert _place(None, busy, _kernel(SAXPY, "saxpy")).bound == "compute"
    twice = _kernel(SAXPY, launches=2)
    assert "1.95 times the least" in _place(SAXPY_WORK, twice, time_us=461.0).reason


def test_kernels_without_durations_leave_the_first_to_judge() -> None:
    untimed = {key: value for key, value in NAIVE_MATMUL.items() if key != m.DURATION}
    place = _place(None, untimed, SAXPY)
    assert place.level == "DRAM", "the only one with a duration is the dominant one"
    assert _place(None, untimed, hardware=None).level == "L1"


def test_near_peak_at_the_roof_in_spite_of_the_compute_gap() -> None:
    floor = speed_of_light_us(SAXPY_WORK, CEILINGS)
    assert floor is not None
    at_roof = _place(SAXPY_WORK, {**SAXPY, m.DRAM: 93.0, m.MEMORY: 93.0}, time_us=1.05 * floor)
    assert at_roof.near_peak
    assert at_roof.gap.compute > 0.9
    wasteful = _place(SAXPY_WORK, {**SAXPY, m.DRAM: 97.0, m.MEMORY: 97.0}, time_us=2 * floor)
    assert not wasteful.near_peak, "a busy DRAM that moves twice the bytes has half its way to go"
    assert _place(None, {**SAXPY, m.DRAM: 97.0, m.MEMORY: 97.0}).near_peak


def test_a_speed_of_light_that_was_beaten_is_not_one() -> None:
    floor = speed_of_light_us(SAXPY_WORK, CEILINGS)
    assert floor is not None
    idle = {**SAXPY, m.DRAM: 40.0, m.MEMORY: 40.0, m.L2: 30.0}
    beaten = _place(SAXPY_WORK, idle, time_us=floor / 3)
    assert beaten.beaten_by == pytest.approx(3) and beaten.speed_of_light_us == floor
    assert not beaten.near_peak and beaten.achieved_gb_per_s is None
    unknown = _place(None, idle, time_us=floor / 3)
    assert (beaten.gap, beaten.bound, beaten.method_budget, beaten.reason) == (
        unknown.gap,
        unknown.bound,
        unknown.method_budget,
        unknown.reason,
    )
    assert _place(SAXPY_WORK, idle, time_us=floor / 1.04).beaten_by is None, "reading is faster"


def test_without_counters_only_a_time_near_the_floor_tells_the_class() -> None:
    floor = speed_of_light_us(SAXPY_WORK, CEILINGS)
    assert floor is not None
    near = _place(SAXPY_WORK, time_us=1.3 * floor)
    assert (near.bound, near.level) == ("memory", "DRAM")
    assert _place(SAXPY_WORK, time_us=9 * floor).bound == "unknown"


def test_nothing_known_is_unknown_with_full_gaps() -> None:
    place = _place(None, hardware=Hardware(name="x"), time_us=50)
    assert (place.bound, place.confidence) == ("unknown", 0.0)
    assert place.speed_of_light_us is None
    assert not place.near_peak
    assert place.method_budget == {"compute": 1, "memory": 1, "latency": 1}


def test_without_time_and_counters_there_is_no_position() -> None:
    static = Profile(kernels=(KernelProfile(name="k"),), hardware=DEVICE)
    assert classify(work=SAXPY_WORK, profile=static, time_us=None) is None


def test_a_timeline_or_the_profiler_gives_a_missing_time() -> None:
    seen = _place(SAXPY_WORK, SAXPY)
    assert seen.achieved_gb_per_s == pytest.approx(12 * N / SAXPY_NS)
    timeline = _timeline(kernels=4, calls=4, span_us=1200.0, first_use_us=200.0)
    assert _place(SAXPY_WORK, SAXPY, timeline=timeline).achieved_gb_per_s == pytest.approx(
        12 * N / 250e3
    )


def test_speed_of_light() -> None:
    ceilings = Ceilings(copy_gb_per_s=4000, fp32_tflop_per_s=50)
    assert speed_of_light_us(MATMUL_WORK, ceilings) == pytest.approx(2 * 2048**3 / 50e6)
    assert speed_of_light_us(Work(bytes=12 * 10**6, flops=1), ceilings) == pytest.approx(3.0)
    assert speed_of_light_us(SAXPY_WORK, None) is None
    assert speed_of_light_us(None, ceilings) is None


PERCENT = st.floats(min_value=0, max_value=100)
COUNTERS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys((m.SM, m.MEMORY, m.DRAM, m.L2, m.L1, m.SHARED, m.LSU_PIPE, m.FMA_PIPE,
                         m.TENSOR_PIPE, m.L2_ATOMIC_UNIT, m.L2_HIT), PERCENT),
        m.ISSUE: st.floats(min_value=0, max_value=1),
        m.DURATION: st.floats(min_value=0, max_value=1e9),
        m.L2_SECTORS: st.floats(min_value=0, max_value=1e12),
        m.GRID: st.integers(min_value=0, max_value=10**6),
    },
)  # fmt: skip


@given(st.lists(COUNTERS, max_size=3), st.none() | st.floats(min_value=1e-3, max_value=1e7))
def test_every_profile_has_a_position_or_none(
    kernels: list[dict[str, float]], time_us: float | None
) -> None:
    profile = Profile(kernels=tuple(_kernel(item) for item in kernels), hardware=DEVICE)
    place = classify(work=SAXPY_WORK, profile=profile, time_us=time_us)
    if place is None:
        assert time_us is None
        return
    assert (place.level is None) or place.bound in ("memory", "mixed")
    assert sum(place.method_budget.values()) <= 3
    assert place.reason


@given(st.floats(min_value=65, max_value=100), st.floats(min_value=0, max_value=1))
def test_more_dram_traffic_never_moves_the_limit_inwards(dram: float, share: float) -> None:
    inner = share * dram
    place = _place(None, {**QUIET, m.DRAM: dram, m.L2: dram, m.L1: inner, m.MEMORY: dram})
    assert (place.bound, place.level) == ("memory", "DRAM")


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


def test_barriers_that_keep_the_address_unit_busy_compute_nothing() -> None:
    waiting = {
        m.SM: 83.0, m.ADU_PIPE: 84.0, m.FMA_PIPE: 10.0, m.ALU_PIPE: 12.0, m.ISSUE: 0.4,
        m.LSU_PIPE: 20.0, m.MEMORY: 30.0, m.DRAM: 5.0, m.L2: 6.0, m.L1: 30.0,
        m.WARP_LATENCY: 10.0, m.STALL_BARRIER: 5.0,
    }  # fmt: skip
    assert _place(None, waiting).limit == "latency"
    branching = _place(None, waiting | {m.STALL_BARRIER: 0.5})
    assert (branching.limit, "address unit" in branching.reason) == ("compute", True)


@pytest.mark.parametrize(
    ("bound", "level", "limit"),
    [
        ("memory", "DRAM", "dram"),
        ("memory", "shared", "l1_shared"),
        ("memory", None, None),
        ("mixed", "L2", "compute"),
        ("launch", None, "launch"),
        ("unknown", None, None),
    ],
)
def test_the_limit_tells_the_levels_of_memory_apart(
    bound: BoundClass, level: MemoryLevel | None, limit: str | None
) -> None:
    place = _place(SAXPY_WORK, SAXPY, time_us=230.5)
    assert place.limit == "dram"
    assert place.model_copy(update={"bound": bound, "level": level}).limit == limit
