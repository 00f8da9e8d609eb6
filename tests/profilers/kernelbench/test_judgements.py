"""The judge's arithmetic: outside clock, layout, libraries, comparisons."""

from __future__ import annotations

from typing import Any

import pytest

from profilers.kernelbench.layout import ALIGNMENT, Layout
from profilers.kernelbench.libraries import forbidden_library, is_library, library_share
from profilers.kernelbench.outside import OutsideClock, Overhead, Overheads, Span, Steps
from profilers.kernelbench.verdicts import Tally, Unfaithful, complaint, first_refusal, passes

CLOCK = OutsideClock()


def span(calls: int, *, event_us: float, work_us: float, late_us: float = 0.0) -> Span:
    """A block whose events claim `event_us` a call, of which `work_us` were worked."""
    return Span(events_us=(event_us,) * calls, excess_us=calls * work_us + late_us, spread_us=30.0)


def spans(**kinds: float) -> list[Span]:
    return [span(calls, **kinds) for calls in (5, 9, 13, 17, 21)]


def test_clocks_that_agree_say_nothing() -> None:
    assert CLOCK.disagreement(spans(event_us=400.0, work_us=405.0)) is None


def test_work_that_no_event_saw_is_counted() -> None:
    found = spans(event_us=3.0, work_us=400.0)
    assert CLOCK.call_us(found) == pytest.approx(400.0)
    assert "the clocks disagree" in str(CLOCK.disagreement(found))


def test_events_cannot_count_more_than_the_judge_waited() -> None:
    assert "took 10" in str(CLOCK.disagreement(spans(event_us=900.0, work_us=10.0)))


def test_the_same_wait_in_every_block_is_counted_whatever_its_size() -> None:
    found = [span(calls, event_us=3.0, work_us=3.0, late_us=5000.0) for calls in (8, 16, 24, 32)]
    assert "the clocks disagree" in str(CLOCK.disagreement(found))


def test_work_of_many_calls_in_one_of_them_is_in_the_mean() -> None:
    heavy = [Span((4000.0, *(2.0,) * 9), excess_us=4020.0, spread_us=30.0)] * 5
    assert CLOCK.claimed_us(heavy) == pytest.approx(401.8)
    assert CLOCK.uneven(heavy)
    assert CLOCK.disagreement(heavy) is None
    assert not CLOCK.uneven(spans(event_us=400.0, work_us=400.0))


def test_a_single_late_block_moves_nothing() -> None:
    found = spans(event_us=400.0, work_us=405.0)
    late = span(13, event_us=400.0, work_us=405.0, late_us=50_000.0)
    assert CLOCK.call_us([*found[:2], late, *found[3:]]) == pytest.approx(405.0)


def test_a_clock_that_varies_is_given_room() -> None:
    steady = spans(event_us=10.0, work_us=40.0)
    wild = [Span(one.events_us, one.excess_us, spread_us=2000.0) for one in steady]
    assert CLOCK.disagreement(steady) is not None
    assert CLOCK.disagreement(wild) is None
    assert CLOCK.resolves(steady)
    assert not CLOCK.resolves(wild)


def test_work_before_and_after_the_calls_is_counted_beyond_what_copies_vary_by() -> None:
    cost = Overhead(fixed_us=10_000.0, per_call_us=0.0, spread_us=50.0)
    overheads = Overheads(prepare=cost, run=cost, fetch=cost)
    events = (3.0,) * 10
    honest = overheads.span(events, Steps(10_400.0, 10_030.0, 9_800.0))
    early = overheads.span(events, Steps(14_000.0, 10_030.0, 10_000.0))
    late = overheads.span(events, Steps(10_000.0, 10_030.0, 14_000.0))
    assert honest.excess_us == pytest.approx(30.0)
    assert early.excess_us == pytest.approx(4030.0)
    assert late.excess_us == pytest.approx(4030.0)


def test_overhead_is_a_line_over_the_calls() -> None:
    found = Overhead.fit([(1, 110.0), (2, 120.0), (4, 140.0)])
    assert found.of(10) == pytest.approx(200.0)
    assert found.spread_us == pytest.approx(0.0, abs=1e-6)
    assert Overhead.fit([(1, 240.0), (1, 260.0)]).spread_us == pytest.approx(10.0)


def test_as_many_calls_as_memory_holds_but_always_one() -> None:
    big = Layout.plan(weights=0, inputs=2**30, outputs=2**30, most_calls=48, memory=2**30)
    small = Layout.plan(weights=100, inputs=1000, outputs=1000, most_calls=48, memory=2**30)
    assert big.calls == 1
    assert big.outputs_bytes >= 2 * 2**30  # two snapshots of one call
    assert small.calls == 48
    assert small.input_at(1) - small.input_at(0) >= 1000
    assert all(small.input_at(call) % ALIGNMENT == 0 for call in range(48))
    assert small.input_at(47) + 1000 <= small.inputs_bytes


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
        "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32",
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16>",
        "cudnn::bn_fw_tr_1C11_kernel_NCHW",
        "void cub::DeviceReduceKernel",
    ],
)
def test_kernels_of_libraries_are_known_by_name(name: str) -> None:
    assert is_library(name)


@pytest.mark.parametrize("name", ["row_softmax", "fused_linear_gelu", "triton_poi_fused_gelu_0"])
def test_other_kernels_are_ones_own(name: str) -> None:
    assert not is_library(name)


def kernel(name: str, us: float) -> dict[str, Any]:
    return {"name": name, "us": us}


def test_a_small_share_of_library_kernels_is_no_fallback() -> None:
    kernels = [kernel("mine", 90.0), kernel("at::native::fill", 10.0)]
    assert library_share(kernels) == pytest.approx(0.1)
    assert forbidden_library("compile_cuda", kernels) is None


def test_a_candidate_whose_own_kernel_never_ran_fell_back() -> None:
    refusal = forbidden_library("k = compile_cuda(SOURCE)", [kernel("ampere_sgemm_128x64", 90.0)])
    assert refusal is not None
    assert refusal.cheat == "fallback"


def test_a_decoy_beside_the_librarys_kernel_is_seen_through() -> None:
    kernels = [kernel("decoy", 2.0), kernel("ampere_sgemm_128x64", 98.0)]
    refusal = forbidden_library("k = compile_cuda(SOURCE)", kernels)
    assert refusal is not None
    assert refusal.cheat == "wraps_reference"


def comparison(**output: Any) -> dict[str, Any]:
    whole = {
        "path": "output", "elements": 10, "mismatches": 0, "nans": 0, "first": None,
        "max_error": 1e-6, "worst_ratio": 0.1, "error_ratio": 1.0,
    }  # fmt: skip
    return {"structure": None, "outputs": [whole | output]}


def test_any_wrong_element_and_any_other_structure_fail() -> None:
    assert passes(comparison())
    wrong = comparison(mismatches=1, first="[3]", got="2.0", expected="1.0")
    assert not passes(wrong)
    assert "first at [3]: got 2.0, expected 1.0" in complaint(wrong)
    assert not passes({"structure": "a list, not a tensor", "outputs": []})


def test_an_error_far_beyond_an_honest_one_is_a_lower_precision() -> None:
    tally = Tally(error_factor=64)
    tally.take(comparison(error_ratio=12.0), label="given")
    with pytest.raises(Unfaithful) as caught:
        tally.take(comparison(error_ratio=4000.0), label="given")
    assert caught.value.refusal.cheat == "precision_downgrade"
    assert tally.verification().rounds == 2


def test_the_first_thing_that_a_guard_saw_is_the_refusal() -> None:
    assert first_refusal([]) is None
    refusal = first_refusal([{"cheat": "input_mutation", "evidence": "input 0 changed"}])
    assert refusal is not None
    assert refusal.cheat == "input_mutation"
