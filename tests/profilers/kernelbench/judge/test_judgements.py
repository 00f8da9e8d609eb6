"""The judge's arithmetic: outside clock, layout, libraries, comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcts.domain import Candidate, Evaluation
from profilers.kernelbench.judge.evaluations import (
    timed_evaluation,
    uneven,
    without_disturbed_block,
)
from profilers.kernelbench.judge.libraries import forbidden_library, is_library, library_share
from profilers.kernelbench.judge.outside_clock import (
    BlockSide,
    BlockSteps,
    OutsideClock,
    PairedBlock,
    residual_std_us,
)
from profilers.kernelbench.judge.problem import Layout
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.settings import TF32_FACTOR, KernelBenchSettings
from profilers.kernelbench.judge.timing import BlockTimes
from profilers.kernelbench.judge.verdicts import (
    Unfaithful,
    VerificationTally,
    complaint,
    first_refusal,
    passes,
    too_far,
)
from profilers.kernelbench.shared.shared_memory import ALIGNMENT

CLOCK = OutsideClock()


def side(
    events_us: Sequence[float],
    *,
    work_us: float,
    early_us: float = 0.0,
    late_us: float = 0.0,
    cost_us: float = 2000.0,
) -> BlockSide:
    """A block of calls that work `work_us` in all, with work before and after them."""
    steps = BlockSteps(cost_us + early_us, cost_us / 2 + work_us, cost_us + late_us)
    return BlockSide(tuple(events_us), steps)


def block(calls: int, *, event_us: float, work_us: float, **elsewhere: float) -> PairedBlock:
    """A block whose events claim `event_us` a call, of which `work_us` were worked."""
    return PairedBlock(
        side((event_us,) * calls, work_us=calls * work_us, **elsewhere),
        side((500.0,) * calls, work_us=calls * 500.0, cost_us=elsewhere.get("cost_us", 2000.0)),
    )


def blocks(**kinds: float) -> list[PairedBlock]:
    return [block(calls, **kinds) for calls in (5, 9, 13, 17, 21, 25)]


def varying(found: Sequence[PairedBlock], us: float) -> list[PairedBlock]:
    """The same with a baseline whose steps cost `us` more and less in turns."""
    sides = []
    for number, one in enumerate(found):
        steps = one.baseline.steps
        off = us * (-1) ** number
        moved = BlockSteps(steps.prepare_us, steps.run_us + off, steps.fetch_us)
        sides.append(BlockSide(one.baseline.events_us, moved))
    return [replace(one, baseline=own) for one, own in zip(found, sides, strict=True)]


def test_an_error_is_bounded_as_the_round_says() -> None:
    tally = VerificationTally(error_factor=64)
    tally.take(comparison(error_ratio=2.7), label="given", error_factor=TF32_FACTOR)
    tally.take(comparison(error_ratio=50.0), label="inputs of one sign", error_factor=64)
    tally.conclude()
    tally.take(comparison(error_ratio=8.0), label="signed", error_factor=TF32_FACTOR)
    with pytest.raises(Unfaithful, match=r"signed: .* 8 times .*at most 4 times"):
        tally.conclude()


def test_clocks_that_agree_say_nothing() -> None:
    assert CLOCK.disagreement(blocks(event_us=400.0, work_us=405.0)) is None


def test_work_that_no_event_saw_is_counted() -> None:
    found = blocks(event_us=3.0, work_us=400.0)
    assert CLOCK.call_us(found) == pytest.approx(400.0)
    assert "the clocks disagree" in str(CLOCK.disagreement(found))


def test_events_cannot_count_more_than_the_judge_waited() -> None:
    assert "took 10" in str(CLOCK.disagreement(blocks(event_us=900.0, work_us=10.0)))


def test_a_slow_baseline_has_more_overhead_than_what_waits_less() -> None:
    """As on an H100: behind calls of 2.7 ms each call costs 50 us more than an idle one."""

    def paired(event_us: float, work_us: float, *, idle: bool) -> list[PairedBlock]:
        return [
            PairedBlock(
                side((event_us,) * calls, work_us=calls * (work_us + 2.0)),
                side((2700.0,) * calls, work_us=calls * 2750.0),
                1000.0 if idle else None,
            )
            for calls in (5, 9, 13, 17, 21, 25)
        ]

    assert "took 62" in str(CLOCK.disagreement(paired(110.0, 110.0, idle=False)))
    assert CLOCK.disagreement(paired(110.0, 110.0, idle=True)) is None
    assert CLOCK.call_us(paired(110.0, 110.0, idle=True)) == pytest.approx(110.0, abs=0.5)
    assert CLOCK.call_us(paired(2700.0, 2748.0, idle=True)) == pytest.approx(2700.0)
    assert CLOCK.disagreement(paired(73.0, 90.0, idle=True)) is None
    lie = paired(60.0, 110.0, idle=True)
    assert "the clocks disagree" in str(CLOCK.disagreement(lie))
    assert CLOCK.disagreement(paired(60.0, 110.0, idle=False)) is None


def test_idle_calls_that_vary_are_given_room_and_none_change_nothing() -> None:
    def paired(idle: list[float | None]) -> list[PairedBlock]:
        return [
            PairedBlock(
                side((73.0,) * 20, work_us=20 * 73.0), side((5700.0,) * 20, work_us=20 * 5760.0), us
            )
            for us in idle
        ]

    steady, stalled = paired([1000.0] * 8), paired([1000.0] * 7 + [4000.0])
    assert CLOCK.call_us(steady) == pytest.approx(73.0, abs=1.0)
    assert CLOCK.disagreement(steady) is None and CLOCK.disagreement(stalled) is None
    without = paired([None] * 8)
    assert CLOCK.call_us(paired([1000.0] * 7 + [None])) == CLOCK.call_us(without)
    assert CLOCK.call_us(paired([9000.0] * 8)) == CLOCK.call_us(without), "idle costs no more"


def waiting(
    us: float | None, *, work_us: float, blocks: int = 12, own_us: float = 0.0
) -> list[PairedBlock]:
    """Calls of 290 us by the events; idle ones that wait cost `us` more than others, and the
    baseline's `own_us`.
    """
    return [
        PairedBlock(
            side((290.0,) * 20, work_us=20 * (work_us + own_us)),
            side((200.0,) * 20, work_us=20 * (200.0 + own_us)),
            1000.0,
            None if us is None else 1000.0 + 20 * us,
        )
        for _ in range(blocks)
    ]


@pytest.mark.parametrize(
    ("us", "work_us", "blocks", "only_waits"),
    [
        (40.0, 350.0, 12, True),
        (40.0, 350.0, 4, False),  # too few say so
        (10.0, 350.0, 12, False),
        (None, 350.0, 12, False),
        (-40.0, 350.0, 12, False),
        (40.0, 390.0, 12, False),
        (40.0, 300.0, 12, False),  # the clocks agree
        (40.0, 150.0, 12, False),  # the events count more than there was
        (900.0, 420.0, 12, True),
        (900.0, 430.0, 12, False),  # no wait costs so much
    ],
)
def test_what_waiting_costs_may_explain_that_the_clocks_disagree(
    us: float | None, work_us: float, blocks: int, only_waits: bool
) -> None:
    """As on a slow host: 350 us by the judge's clock, which allows 290 us to be 324."""
    found = waiting(us, work_us=work_us, blocks=blocks)
    assert CLOCK.may_only_wait(found) is only_waits
    assert (CLOCK.disagreement(found) is None) is (only_waits or work_us == 300.0)
    assert CLOCK.seems_longer(found) is (work_us > 324.0)


def test_a_baseline_that_waits_has_that_in_its_own_overhead() -> None:
    assert CLOCK.may_only_wait(waiting(50.0, work_us=350.0, own_us=10.0))
    assert not CLOCK.may_only_wait(waiting(50.0, work_us=350.0, own_us=40.0))
    assert CLOCK.disagreement(waiting(50.0, work_us=350.0, own_us=40.0)) is not None


def test_a_fast_candidate_that_waits_beside_a_slow_baseline_is_measured() -> None:
    """Of the baseline's overhead of 50 us beyond idle calls, it is charged with little."""

    def paired(work_us: float) -> list[PairedBlock]:
        return [
            PairedBlock(
                side((110.0,) * 20, work_us=20 * work_us),
                side((2700.0,) * 20, work_us=20 * 2750.0),
                1000.0,
                1000.0 + 20 * 55.0,
            )
            for _ in range(10)
        ]

    assert CLOCK.may_only_wait(paired(165.0))
    assert CLOCK.disagreement(paired(225.0)) is not None


def test_what_only_varies_costs_nothing() -> None:
    found = waiting(0.0, work_us=350.0)
    varied = [
        replace(one, waiting_us=1000.0 + 20 * 60.0 * (-1) ** number)
        for number, one in enumerate(found)
    ]
    assert CLOCK.disagreement(varied) is not None


def test_where_only_the_median_tells_nothing_is_allowed_for() -> None:
    """A mean that a fifth of the blocks hide would be reported as what is claimed."""
    found = waiting(55.0, work_us=365.0, blocks=96)
    slow = [
        replace(one, baseline=replace(one.baseline, steps=replace(steps, run_us=steps.run_us + us)))
        for number, one in enumerate(found)
        for steps, us in [(one.baseline.steps, 12_500.0 * (number % 5 == 0))]
    ]
    assert "in most blocks" in str(CLOCK.disagreement(slow))
    evaluation = evaluated(slow)
    assert evaluation.status == "suspect" and not evaluation.notes
    assert evaluation.timing is not None
    assert evaluation.timing.median_us == pytest.approx(365.0), "what the message says"


def test_noise_is_no_reason_to_think_that_calls_do_not_wait() -> None:
    found = varying(waiting(None, work_us=350.0, blocks=6), 400.0)
    assert CLOCK.disagreement(found) is None and CLOCK.seems_longer(found)


def times_of(found: Sequence[PairedBlock]) -> BlockTimes:
    return BlockTimes(
        tuple(one.baseline.events_us for one in found),
        tuple(one.candidate.events_us for one in found),
        tuple(found),
    )


def evaluated(found: Sequence[PairedBlock] | BlockTimes) -> Evaluation:
    times = found if isinstance(found, BlockTimes) else times_of(found)
    tally = VerificationTally(error_factor=64)
    session = SimpleNamespace(settings=KernelBenchSettings(), tally=tally, build=None)
    evaluation = timed_evaluation(
        Candidate(source="class ModelNew: ..."),
        cast(CandidateSession, session),
        times,
        baseline="eager",
        floor_us=1.0,
        usual_us=None,
        least_us=None,
    )
    return evaluation.model_copy(update={"notes": tuple(tally.notes)})


def test_calls_that_only_wait_are_measured_by_the_slower_clock() -> None:
    steady = evaluated(waiting(40.0, work_us=350.0))
    assert steady.status == "measured" and steady.timing is not None
    assert steady.timing.median_us == pytest.approx(350.0)
    assert steady.timing.speedup == pytest.approx(200.0 / 350.0)
    assert "350 us by the judge's clock" in steady.notes[0] and "290 us by" in steady.notes[0]
    assert evaluated(waiting(None, work_us=350.0)).status == "suspect"
    plain = evaluated(waiting(40.0, work_us=300.0))
    assert plain.timing is not None and plain.timing.median_us < 290.1 and not plain.notes


def test_the_interval_by_the_slower_clock_has_what_calls_vary_by() -> None:
    each = [waiting(60.0, work_us=us, blocks=5) for us in (330.0, 340.0, 350.0, 380.0, 400.0)]
    pooled = evaluated(BlockTimes.pooled([times_of(found) for found in each])).timing
    alone = evaluated([one for found in each for one in found]).timing
    assert pooled is not None and alone is not None
    for timing, reach_us in ((pooled, 36.0), (alone, 11.0)):
        assert timing.median_us == pytest.approx(360.0)
        assert timing.high_us - timing.low_us == pytest.approx(2 * reach_us, rel=0.05)
        assert timing.speedup_low < 200.0 / (360.0 + 0.8 * reach_us)
    assert pooled.detectable is not None and pooled.detectable > 0.08


def test_blocks_that_a_busy_host_lengthens_widen_the_interval_of_finalists() -> None:
    each = [waiting(55.0, work_us=350.0, blocks=6) for _ in range(5)]
    steps = each[2][1].candidate.steps
    late = replace(each[2][1].candidate, steps=replace(steps, run_us=steps.run_us + 8000.0))
    each[2][1] = replace(each[2][1], candidate=late)
    timing = evaluated(BlockTimes.pooled([times_of(found) for found in each])).timing
    assert timing is not None
    assert timing.median_us == pytest.approx(350.0 + 8000.0 / 600)
    assert timing.low_us < 350.0 < timing.high_us


def test_one_pair_of_processes_is_pooled_as_it_is() -> None:
    found = waiting(40.0, work_us=350.0, blocks=10)
    assert BlockTimes.pooled([times_of(found)]) == times_of(found)


@pytest.mark.parametrize(
    "claims",
    [
        [(66.0,) * 11 + (141.0,) * 9] * 10,  # from call to call
        [(30.0,) * 20, (170.0,) * 20] * 5,  # from block to block
    ],
)
def test_calls_that_claim_what_others_take_more_count_as_their_mean(
    claims: list[tuple[float, ...]],
) -> None:
    found = [
        PairedBlock(side(us, work_us=2000.0), side((200.0,) * 20, work_us=4000.0)) for us in claims
    ]
    mean_us = sum(map(sum, claims)) / 200
    for times in (times_of(found), BlockTimes.pooled([times_of(found[:4]), times_of(found[4:])])):
        evaluation = evaluated(times)
        assert evaluation.status == "measured" and evaluation.timing is not None
        assert evaluation.timing.median_us == pytest.approx(mean_us)
        assert "unequal times" in evaluation.notes[0]


def test_a_disturbed_block_counts_for_nothing_where_calls_wait_either() -> None:
    found = waiting(40.0, work_us=350.0, blocks=10)
    steps = found[3].candidate.steps
    late = replace(found[3].candidate, steps=replace(steps, run_us=steps.run_us + 6000.0))
    found[3] = replace(found[3], candidate=late)
    assert CLOCK.disagreement(found) is not None
    evaluation = evaluated(found)
    assert evaluation.status == "measured" and evaluation.timing is not None
    assert evaluation.timing.median_us == pytest.approx(350.0)


def test_the_same_wait_in_every_block_is_counted_whatever_its_size() -> None:
    found = [block(calls, event_us=3.0, work_us=3.0, late_us=5000.0) for calls in (8, 16, 24, 32)]
    assert "the clocks disagree" in str(CLOCK.disagreement(found))


def test_work_of_many_calls_in_one_of_them_is_in_the_mean() -> None:
    own = side((500.0,) * 10, work_us=5000.0)
    heavy = [PairedBlock(side((4000.0, *(2.0,) * 9), work_us=4020.0), own)] * 5
    assert CLOCK.claimed_us(heavy) == pytest.approx(401.8)
    assert uneven([one.candidate.events_us for one in heavy])
    assert CLOCK.disagreement(heavy) is None
    assert not uneven([[400.0] * 5, [440.0] * 9])


def test_work_that_moves_from_step_to_step_is_counted_together() -> None:
    places = ({"early_us": 8000.0}, {"work_us": 403.0}, {"late_us": 8000.0})
    found = [block(20, **{"event_us": 3.0, "work_us": 3.0, **place}) for place in places * 3]
    assert CLOCK.call_us(found) == pytest.approx(403.0)
    assert "the clocks disagree" in str(CLOCK.disagreement(found))


def test_a_clock_that_varies_is_given_room() -> None:
    steady = blocks(event_us=10.0, work_us=40.0)
    wild = varying(steady, 1000.0)
    assert CLOCK.disagreement(steady) is not None
    assert CLOCK.disagreement(wild) is None
    assert CLOCK.resolves(steady)
    assert not CLOCK.resolves(wild)


def test_a_clock_that_varies_too_much_checks_nothing_and_says_so() -> None:
    steady = blocks(event_us=10.0, work_us=10.0)
    assert CLOCK.too_noisy(steady) is None
    assert CLOCK.too_noisy(varying(steady, 40.0)) is None
    assert "unsteady" in str(CLOCK.too_noisy(varying(steady, 10_000.0)))


def test_a_slow_baseline_does_not_hide_work() -> None:
    """Calls of 28 us on a stream of their own, claimed to take 3 us, beside 500 us, passed once."""
    claimed = varying(blocks(event_us=3.0, work_us=28.0), 120.0)
    assert CLOCK.disagreement(claimed) is None
    assert "unsteady" in str(CLOCK.too_noisy(claimed))
    longer = varying(blocks(event_us=3.0, work_us=28.0) * 4, 120.0)  # as many blocks as it takes
    assert "the clocks disagree" in str(CLOCK.disagreement(longer))


def interrupted(found: Sequence[PairedBlock]) -> list[PairedBlock]:
    """The same on a host that takes 4 ms more for a quarter of all blocks, on either side in turn,
    and some microseconds for the others.
    """
    made = []
    for number, one in enumerate(found):
        off = {3: (0.0, 4000.0), 7: (4000.0, 0.0)}.get(number % 8, (0.0, 0.0))
        sides = [
            BlockSide(own.events_us, replace(own.steps, run_us=own.steps.run_us + us + number % 5))
            for own, us in zip((one.candidate, one.baseline), off, strict=True)
        ]
        made.append(PairedBlock(*sides))
    return made


def test_most_blocks_do_where_some_are_interrupted() -> None:
    honest = interrupted(blocks(event_us=20.0, work_us=20.0) * 6)
    assert CLOCK.too_noisy(honest) is None
    assert CLOCK.disagreement(honest) is None
    assert "unsteady" in str(CLOCK.too_noisy(honest[:6]))  # too few for a median


def test_a_lie_in_most_blocks_is_seen_where_some_are_interrupted() -> None:
    lying = interrupted(blocks(event_us=20.0, work_us=45.0) * 6)
    assert "in most blocks a call took" in str(CLOCK.disagreement(lying))
    early = interrupted(blocks(event_us=20.0, work_us=20.0, early_us=4000.0) * 6)
    assert "the clocks disagree" in str(CLOCK.disagreement(early))


def test_most_blocks_say_nothing_of_claims_that_are_not_alike() -> None:
    """Two of five blocks claim a tenth of what they work, and the others all of it."""
    short, whole = (blocks(event_us=us, work_us=90.0) * 6 for us in (9.0, 90.0))
    mixed = [pair[number % 5 > 1] for number, pair in enumerate(zip(short, whole, strict=True))]
    quiet = CLOCK.disagreement(mixed)
    assert "the clocks disagree" in str(quiet)
    assert "unsteady" in str(CLOCK.too_noisy(interrupted(mixed)))


def test_work_before_and_after_the_calls_is_counted_beyond_what_copies_vary_by() -> None:
    copies = {"event_us": 30.0, "work_us": 30.0, "cost_us": 10_000.0}
    assert CLOCK.disagreement(blocks(**copies, early_us=400.0)) is None
    for name in ("early_us", "late_us"):
        found = blocks(**copies, **{name: 4000.0})
        assert "the clocks disagree" in str(CLOCK.disagreement(found))
        assert CLOCK.call_us(found) == pytest.approx(30.0 + 4000.0 * 6 / 90)


def test_one_disturbed_block_counts_for_nothing_two_do() -> None:
    found = blocks(event_us=400.0, work_us=405.0)
    late = block(13, event_us=4.0, work_us=405.0, late_us=50_000.0)
    each = tuple((400.0,) for _ in found)
    once, twice = (*found[:2], late, *found[3:]), (late, late, *found[2:])
    assert CLOCK.worst_block(once) == 2
    left = without_disturbed_block(BlockTimes(each, each, once), CLOCK)
    assert left.blocks == (*once[:2], *once[3:])
    assert len(left.candidate) == len(left.baseline) == len(each) - 1
    assert without_disturbed_block(BlockTimes(each, each, twice), CLOCK).blocks == twice
    assert without_disturbed_block(BlockTimes(each, each, tuple(found)), CLOCK).blocks == tuple(
        found
    )


def test_scatter_is_about_a_line_over_the_calls() -> None:
    assert residual_std_us([1, 2, 4], [110.0, 120.0, 140.0]) == pytest.approx(0.0, abs=1e-6)
    assert residual_std_us([3, 3], [240.0, 260.0]) == pytest.approx(200.0**0.5)
    assert residual_std_us([1, 2], [240.0, 260.0]) == 0.0


def test_as_many_calls_as_memory_holds_but_always_one() -> None:
    big = Layout.plan(weights=0, inputs=2**30, outputs=2**30, most_calls=48, memory=2**30)
    small = Layout.plan(weights=100, inputs=1000, outputs=1000, most_calls=48, memory=2**30)
    assert big.calls == 1
    assert big.outputs_bytes >= 2 * 2**30  # two snapshots of one call
    assert big.in_turns and not small.in_turns
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
    assert not any(map(is_library, ("row_softmax", "fused_linear_gelu", "triton_poi_fused_gelu_0")))


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
        "max_error": 1e-6, "worst_ratio": 0.1, "error_ratio": 1.0, "error_share": 1e-7,
    }  # fmt: skip
    return {"structure": None, "outputs": [whole | output]}


def test_any_wrong_element_and_any_other_structure_fail() -> None:
    assert passes(comparison())
    wrong = comparison(mismatches=1, first="[3]", got="2.0", expected="1.0")
    assert not passes(wrong)
    assert "first at [3]: got 2.0, expected 1.0" in complaint(wrong)
    assert not passes({"structure": "a list, not a tensor", "outputs": []})


def test_an_error_far_beyond_an_honest_one_is_a_lower_precision() -> None:
    tally = VerificationTally(error_factor=64)
    tally.take(comparison(error_ratio=12.0), label="given")
    tally.conclude()
    tally.take(comparison(error_ratio=4000.0), label="scaled")
    tally.take(comparison(error_ratio=9000.0), label="shifted")  # the first is what is told
    with pytest.raises(Unfaithful) as caught:
        tally.conclude()
    assert caught.value.refusal.cheat == "precision_downgrade"
    assert caught.value.refusal.evidence.startswith("scaled: within the tolerance")
    assert tally.verification().rounds == 3
    assert tally.verification().error_ratio == 9000.0


def test_an_error_as_large_as_the_output_is_wrong_whatever_the_precision() -> None:
    told = too_far(comparison(error_ratio=4e6, error_share=0.87), error_factor=64)
    assert told is not None and "87 % of the output itself" in told
    halved = comparison(error_ratio=4000.0, error_share=0.1)  # E5M2 or better
    assert too_far(halved, error_factor=64) is None
    ill_conditioned = comparison(error_ratio=2.0, error_share=0.5)  # honest runs err as much
    assert too_far(ill_conditioned, error_factor=64) is None
    whole_numbers = comparison(error_ratio=None, error_share=None)
    assert too_far(whole_numbers, error_factor=64) is None


def test_the_first_cheat_that_a_guard_saw_is_the_refusal() -> None:
    assert first_refusal([]) is None
    refusal = first_refusal([{"cheat": "input_mutation", "evidence": "input 0 changed"}])
    assert refusal is not None
    assert refusal.cheat == "input_mutation"
