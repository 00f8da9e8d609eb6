"""Launches of a call without a plan: which are profiled, and what comes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Metric, SassFacts
from mcts.domain import metrics as m
from profilers.ncu import LAUNCHES, NcuKernel
from profilers.profiles.launches import TracedKernel, batches, kernel_profiles, shown_name

RELU = "void at::native::vectorized_elementwise_kernel<4, relu, std::array<char*, 2ul> >(int, relu)"
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(Params)"
OWN = "void ns::scale<float>(float*, int)"


def seen(name: str, us: float, *, blocks: int = 8, threads: int = 128) -> NcuKernel:
    return NcuKernel(
        name,
        {
            m.DURATION: Metric(value=us * 1e3, unit="ns"),
            m.GRID: Metric(value=blocks),
            m.BLOCK: Metric(value=threads),
        },
    )


def launched(name: str, us: float = 1.0, launches: int = 1, blocks: int = 8) -> TracedKernel:
    return TracedKernel(name=name, blocks=blocks, threads=128, launches=launches, us=us)


def is_library(name: str) -> bool:
    return "at::native" in name or "cutlass" in name


def test_kernels_stand_in_the_order_of_the_call_with_their_counts() -> None:
    kernels, missing = kernel_profiles(
        [seen("Kernel2", 30), seen("scale", 9), seen("scale", 5), seen("scale", 7)],
        [launched(OWN, 21.0, 3), launched(GEMM, 30.0)],
        sass={"scale": SassFacts(instructions=40), "Kernel2": SassFacts(instructions=900)},
        is_library=is_library,
    )
    assert missing == {}
    scale, gemm = kernels
    assert (scale.name, scale.launches, scale.library) == ("scale", 3, False)
    assert scale.value(m.DURATION) == 7e3  # of the launch of median duration
    assert scale.sass is not None and scale.sass.instructions == 40
    assert gemm.library and gemm.sass is None
    assert gemm.name == "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>"


def test_one_kernel_at_two_sizes_is_two() -> None:
    kernels, _ = kernel_profiles(
        [seen("scale", 9), seen("scale", 90, blocks=80)], [], sass={}, is_library=is_library
    )
    assert [(one.name, one.launches, one.value(m.GRID)) for one in kernels] == [
        ("scale", 1, 8),
        ("scale", 1, 80),
    ]


def test_kernels_that_were_not_profiled_are_named_with_their_share_and_keep_their_time() -> None:
    kernels, missing = kernel_profiles(
        [seen("scale", 9)],
        [launched(OWN, 60.0), launched(RELU, 30.0, 4), launched("tiny", 10.0)],
        sass={},
        is_library=is_library,
    )
    assert [(one.name.partition("<")[0], one.total_us, one.is_counted) for one in kernels] == [
        ("scale", 9.0, True),
        ("at::native::vectorized_elementwise_kernel", 30.0, False),
        ("tiny", 10.0, False),
    ]
    assert missing[LAUNCHES].startswith("kernels of 40% of the call's time have no counters: at::")
    assert "(30%)" in missing[LAUNCHES] and "tiny (10%)" in missing[LAUNCHES]


def test_a_size_on_which_both_disagree_makes_no_second_kernel() -> None:
    kernels, missing = kernel_profiles(
        [seen("Kernel2", 30, blocks=9)], [launched(GEMM)], sass={}, is_library=is_library
    )
    assert [(one.name, one.library) for one in kernels] == [(shown_name(GEMM), True)]
    assert missing == {}


def test_without_counters_the_trace_still_names_and_times_the_kernels() -> None:
    facts = SassFacts(instructions=1)
    kernels, missing = kernel_profiles(
        [], [launched(OWN), launched(RELU)], sass={"scale": facts}, is_library=is_library
    )
    assert [(one.name.partition("<")[0], one.total_us, one.sass) for one in kernels] == [
        ("scale", 1.0, facts),
        ("at::native::vectorized_elementwise_kernel", 1.0, None),
    ]
    assert not any(one.is_counted for one in kernels)
    assert missing == {}
    alone, _ = kernel_profiles([], [], sass={"scale": facts}, is_library=is_library)
    assert [(one.name, one.sass) for one in alone] == [("scale", facts)]


@pytest.mark.parametrize(
    ("full", "shown"),
    [
        ("saxpy", "saxpy"),
        ("saxpy(int, float)", "saxpy"),
        (OWN, "ns::scale<float>"),
        ("void (anonymous namespace)::softmax<int (*)(float), 4>(float*)",
         "(anonymous namespace)::softmax<int (*)(float), 4>"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT"),
        ("void f<" + "x, " * 100 + "y>(int)", ("f<" + "x, " * 100)[:97] + "..."),
    ],
)  # fmt: skip
def test_a_kernels_name_is_shown_short(full: str, shown: str) -> None:
    assert shown_name(full) == shown


def test_a_call_that_fits_is_one_run() -> None:
    call = [launched(OWN, 1.0, 3), launched(GEMM, 9.0)]
    assert batches(call, most=4, runs=3, least=0.1) == [["Kernel2", "scale"]]
    assert batches([], most=4, runs=3, least=0.1) == []


def test_a_kernel_of_too_many_launches_gets_a_run_of_its_own() -> None:
    call = [launched("a", 50.0, 100), launched("b", 30.0, 2), launched("c", 19.0, 2)]
    call += [launched("d", 1.0, 90)]
    assert batches(call, most=4, runs=3, least=0.1) == [["a"], ["b", "c"]]
    assert batches(call, most=4, runs=1, least=0.1) == [["a"]]


@given(
    st.lists(
        st.builds(
            launched, st.sampled_from("abcdefgh"), st.floats(0, 100), st.integers(1, 50)
        ), max_size=12,
    ),
    st.integers(1, 40),
)  # fmt: skip
def test_no_kernel_is_profiled_twice_and_the_longest_always(
    call: list[TracedKernel], most: int
) -> None:
    chosen = batches(call, most=most, runs=3, least=0.1)
    names = [name for batch in chosen for name in batch]
    assert len(names) == len(set(names)) and len(chosen) <= 3
    times: dict[str, float] = {}
    for item in call:
        times[item.name] = times.get(item.name, 0.0) + item.us
    if times:
        assert times[names[0]] == max(times.values())
