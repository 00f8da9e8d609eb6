"""Facts about windows of operations: every field as its docstring says, whatever the order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import TimelineFacts
from profilers.timeline import Activity, ApiCall, kernel_times, summarise

US = 1000


def kernel(start: float, end: float, name: str = "k", *, stream: int = 7, of: int = 0) -> Activity:
    return Activity("kernel", name, round(start * US), round(end * US), stream, of)


def copy(start: float, end: float, kind: str = "HTOD", size: int = 4096, **rest: bool) -> Activity:
    return Activity(
        "copy", "", round(start * US), round(end * US), 7, 0, size, kind, rest.get("pageable")
    )


def call(name: str, start: float, end: float, correlation: int = 0, *, thread: int = 1) -> ApiCall:
    return ApiCall(name, round(start * US), round(end * US), correlation, thread)


def facts(*items: Activity | ApiCall, calls: int = 1) -> TimelineFacts:
    found = summarise(
        [item for item in items if isinstance(item, Activity)],
        [item for item in items if isinstance(item, ApiCall)],
        source="nsys",
        calls=calls,
    )
    assert found is not None
    return found


def test_a_window_without_operations_has_no_facts() -> None:
    assert summarise([], [call("cudaDeviceSynchronize", 0, 5)], source="nsys") is None


def test_span_busy_and_gaps_of_kernels_in_a_row() -> None:
    seen = facts(kernel(100, 130), kernel(140, 145), kernel(165, 200, "other"))
    assert (seen.span_us, seen.busy_us, seen.overlapped_us) == (100, 70, 0)
    assert (seen.gap_us, seen.median_gap_us, seen.idle_share) == (10, 10, 10 / 80)
    assert (seen.kernels, seen.kernel_names, seen.short_kernels) == (3, 2, 1)
    assert (seen.median_kernel_us, seen.streams, seen.first_use_us) == (30, 1, 20)


def test_overlap_counts_once_as_busy_and_leaves_no_gap() -> None:
    seen = facts(kernel(0, 60), kernel(40, 100, stream=8), kernel(50, 55, stream=9))
    assert (seen.busy_us, seen.overlapped_us, seen.gap_us, seen.streams) == (100, 20, 0, 3)
    assert seen.median_gap_us == 0


def test_a_memset_or_copy_fills_a_gap_without_being_busy() -> None:
    memset = Activity("memset", "", 20 * US, 30 * US, 7, 0, 64)
    seen = facts(kernel(0, 20), memset, copy(30, 35, "DTOD"), kernel(40, 60))
    assert (seen.busy_us, seen.gap_us, seen.median_gap_us, seen.copy_us) == (40, 5, 5, 0)


def test_one_kernel_has_no_gap_to_a_neighbour() -> None:
    assert facts(kernel(0, 5)).median_gap_us is None
    assert facts(copy(0, 5)).median_kernel_us is None


def test_loading_a_kernel_at_its_first_launch_is_no_gap() -> None:
    first = [kernel(0, 10, "a", of=1), call("cudaLaunchKernel_v7000", -30, -5, 1)]
    loaded = [kernel(110, 120, "b", of=2), call("cudaLaunchKernel_v7000", 8, 112, 2)]
    again = [kernel(130, 140, "b", of=3), call("cudaLaunchKernel_v7000", 119, 129, 3)]
    seen = facts(*first, *loaded, *again)
    assert (seen.first_use_us, seen.gap_us, seen.median_gap_us) == (100, 10, 10)
    assert seen.span_us == seen.busy_us + seen.gap_us + seen.first_use_us
    assert seen.idle_share == 10 / 40


def test_the_whole_wait_before_a_first_launch_is_set_apart() -> None:
    seen = facts(kernel(0, 10, "a"), kernel(1000, 1010, "b"), kernel(1040, 1050, "a"))
    assert (seen.first_use_us, seen.gap_us, seen.median_gap_us) == (990, 30, 30)


def test_repeated_calls_came_after_a_warm_up() -> None:
    launch = call("cuLaunchKernel", 9, 13, 2)
    window = [kernel(0, 10, "a"), kernel(14, 20, "b", of=2), launch]
    assert facts(*window, calls=5).first_use_us == 0
    assert facts(*window, calls=5).gap_us == 4
    assert facts(*window).first_use_us == 4


@pytest.mark.parametrize(
    "name",
    ["cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060",
     "cudaLaunchKernel_ptsz_v7000", "cudaLaunchCooperativeKernel_v9000",
     "cuLaunchCooperativeKernel"],
)  # fmt: skip
def test_every_way_to_launch_counts(name: str) -> None:
    seen = facts(kernel(10, 20), call(name, 0, 4), call("cudaGetLastError", 5, 6))
    assert (seen.launches, seen.launch_api_us, seen.graph_launches) == (1, 4, 0)


def test_graph_launches_are_told_apart() -> None:
    seen = facts(kernel(10, 20), call("cudaGraphLaunch_v10000", 0, 4), call("cuGraphLaunch", 5, 6))
    assert (seen.launches, seen.graph_launches, seen.launch_api_us) == (0, 2, 5)


def test_a_driver_call_inside_a_runtime_call_counts_once() -> None:
    outer = call("cudaLaunchKernel", 0, 10, 1)
    assert facts(kernel(20, 30), outer, call("cuLaunchKernel", 2, 9, 1)).launches == 1
    beside = call("cuLaunchKernel", 2, 9, 2, thread=2)
    assert facts(kernel(20, 30), outer, beside).launches == 2
    assert facts(kernel(20, 30), outer, call("cuLaunchKernel", 8, 11, 2)).launches == 2


def test_waits_count_as_far_as_the_device_had_work() -> None:
    seen = facts(
        kernel(100, 200),
        call("cudaDeviceSynchronize_v3020", 0, 90),  # creates the context
        call("cudaStreamSynchronize", 150, 180),
        call("cudaEventSynchronize", 190, 260),
        call("cuCtxSynchronize", 300, 301),
        call("cudaMemcpy", 120, 130),
    )
    assert (seen.sync_calls, seen.sync_us) == (2, 40)


def test_allocations_count_between_the_first_launch_and_the_last() -> None:
    seen = facts(
        kernel(10, 20, of=1),
        kernel(60, 900, of=2),
        call("cudaMalloc", 0, 2),
        call("cudaLaunchKernel", 4, 9, 1),
        call("cudaMalloc_v3020", 12, 30),
        call("cuMemFree_v2", 31, 33),
        call("cudaMallocAsync_v11020", 34, 35),
        call("cudaMallocHost", 36, 50),
        call("cudaLaunchKernel", 52, 58, 2),
        call("cudaFree", 59, 905),  # waits for the last kernel: every program does it
    )
    assert (seen.allocations, seen.allocation_us) == (2, 20)


def test_copies_between_host_and_device() -> None:
    seen = facts(
        copy(0, 10, "HTOD", 65536, pageable=True),
        copy(5, 20, "DTOH", 65535, pageable=False),
        copy(20, 30, "DTOD", 100),
        copy(30, 32, "UVM_HTOD", 4096),
        copy(40, 50, "HTOA", 1),
    )
    assert (seen.copies_to_device, seen.copies_to_host) == (2, 1)
    assert (seen.copy_us, seen.copied_bytes) == (32, 65536 + 65535 + 4096 + 1)
    assert (seen.small_copies, seen.pageable_copies, seen.gap_us) == (2, 1, 8)


def test_kernel_times_by_name_in_order() -> None:
    items = [kernel(30, 34, "b"), kernel(10, 15), copy(0, 9), kernel(0, 7)]
    assert kernel_times(items) == {"k": [7, 5], "b": [4]}


TIMES = st.integers(0, 2000)
NAMES = ["cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch", "cuModuleLoadData",
         "cudaStreamSynchronize", "cudaMalloc", "cudaMemcpy", "cudaFoo"]  # fmt: skip
ACTIVITIES = st.builds(
    lambda kind, name, start, length, rest: Activity(kind, name, start, start + length, *rest),
    st.sampled_from(["kernel", "copy", "memset"]),
    st.sampled_from("abc"),
    TIMES,
    st.integers(0, 500),
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 5),
        st.integers(0, 100_000),
        st.sampled_from(["", "HTOD", "DTOH", "DTOD", "UVM_DTOH"]),
        st.sampled_from([None, True, False]),
    ),
)
CALLS = st.builds(
    lambda name, start, length, correlation, thread: ApiCall(
        name, start, start + length, correlation, thread
    ),
    st.sampled_from(NAMES),
    TIMES,
    st.integers(0, 500),
    st.integers(0, 5),
    st.integers(0, 2),
)
WINDOWS = st.tuples(st.lists(ACTIVITIES, min_size=1, max_size=30), st.lists(CALLS, max_size=30))


@given(WINDOWS, st.integers(1, 3))
def test_the_parts_fit_into_the_span(
    window: tuple[list[Activity], list[ApiCall]], calls: int
) -> None:
    seen = summarise(*window, source="cupti", calls=calls)
    assert seen is not None
    idle = seen.gap_us + seen.first_use_us
    slack = 1e-9
    assert seen.overlapped_us <= seen.busy_us + slack
    assert seen.busy_us + idle <= seen.span_us + slack
    assert seen.copy_us + idle <= seen.span_us + slack
    assert seen.short_kernels <= seen.kernels and seen.kernel_names <= seen.kernels
    assert seen.small_copies <= seen.copies_to_device + seen.copies_to_host
    assert (seen.median_kernel_us is None) == (seen.kernels == 0)
    assert seen.median_gap_us is None or seen.kernels >= 2
    assert seen.median_gap_us is not None or seen.kernels < 2 or calls == 1
    assert all(
        value >= 0 and value == value
        for value in seen.model_dump().values()
        if isinstance(value, int | float)
    )


@given(WINDOWS)
def test_the_parts_make_up_the_span_where_nothing_overlaps(
    window: tuple[list[Activity], list[ApiCall]],
) -> None:
    at, apart = 0, []
    for item in sorted(window[0], key=lambda item: item.start_ns):
        start = max(at, item.start_ns)
        length = item.end_ns - item.start_ns
        at = start + length
        copied = "HTOD" if item.kind == "copy" else ""
        apart.append(
            Activity(item.kind, item.name, start, at, 0, item.correlation, 1, copied, None)
        )
    seen = summarise(apart, window[1], source="nsys")
    assert seen is not None
    memsets = sum(item.end_ns - item.start_ns for item in apart if item.kind == "memset") / 1e3
    parts = seen.busy_us + seen.gap_us + seen.first_use_us + seen.copy_us + memsets
    assert parts == pytest.approx(seen.span_us)


@given(WINDOWS, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(
    window: tuple[list[Activity], list[ApiCall]], order: random.Random
) -> None:
    before = summarise(*window, source="nsys"), kernel_times(window[0])
    order.shuffle(window[0])
    order.shuffle(window[1])
    assert (summarise(*window, source="nsys"), kernel_times(window[0])) == before


@given(WINDOWS, st.integers(-(10**15), 10**15))
def test_the_recorders_clock_does_not_matter(
    window: tuple[list[Activity], list[ApiCall]], shift: int
) -> None:
    def moved(item: Activity | ApiCall) -> Activity | ApiCall:
        values = {name: getattr(item, name) for name in item.__slots__}
        values["start_ns"] += shift
        values["end_ns"] += shift
        return type(item)(**values)

    later = facts(*map(moved, window[0]), *map(moved, window[1]))
    assert later == facts(*window[0], *window[1])
