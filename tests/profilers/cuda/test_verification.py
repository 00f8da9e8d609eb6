"""Verdicts and timings from a worker's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcts.domain import Cost, KernelTask
from profilers.cuda.timing import floor_us, why_workload_suspect, workload_timing
from profilers.cuda.verification import mistimed, unravel, unrelated_error, verification_of
from profilers.hardware.ceilings import Rates
from profilers.launching.precision import Excess, whole_errors
from profilers.measuring.clocks import Batch, Clocks

RATES = Rates(copy_gb_per_s=1000, read_gb_per_s=1100, fp32_tflop_per_s=50, launch_us=2)


def output(**found: Any) -> dict[str, Any]:
    clean = {"name": "y", "elements": 1000, "mismatches": 0, "nans": 0, "max_error": 0.0,
             "worst_ratio": 0.0}  # fmt: skip
    return clean | found


def clocks(event: float = 30.0, host: float = 30.0, outside: float = 30.0) -> Clocks:
    """Batches with an overhead, in which a call takes these microseconds by each clock."""
    sizes = (50, 100, 150)
    return Clocks([Batch(n, n * event, n * host + 12, n * outside + 250) for n in sizes])


def test_a_clean_comparison_passes(scale_task: KernelTask) -> None:
    run = {"outputs": [output(max_error=1e-9, worst_ratio=0.25)]}
    found = verification_of(scale_task, [(scale_task.workloads[1], run)] * 2)
    assert found.passed and found.detail == ""
    assert (found.rounds, found.max_error, found.worst_ratio) == (2, 1e-9, 0.25)


def test_a_wrong_output_says_where_and_how_much(scale_task: KernelTask) -> None:
    wrong = output(mismatches=37, nans=12, first=317, got=0.1, expected=0.2, worst_ratio=None)
    run = {"outputs": [wrong]}
    found = verification_of(scale_task, [(scale_task.workloads[1], run)])
    assert not found.passed
    assert found.worst_ratio is None
    assert found.detail.startswith(
        "small: 37 of 1000 elements of y wrong; first at [317]: got 0.1, expected 0.2"
    )
    assert found.detail.endswith("; 12 NaN")


def test_changed_inputs_and_stray_stores_fail(scale_task: KernelTask) -> None:
    run = {"outputs": [output()]}
    damaged = ["input x of case 1", "memory beyond y of case 2"]
    found = verification_of(scale_task, [(scale_task.workloads[0], run)], damaged)
    assert not found.passed
    assert "input x of case 1 was changed" in found.detail
    assert "past the end" in found.detail


def test_positions_are_row_major() -> None:
    assert unravel(317, (10, 100)) == (3, 17)
    assert unravel(23, (2, 3, 4)) == (1, 2, 3)


def test_other_distributions_are_named_and_have_their_own_tolerance(
    scale_task: KernelTask,
) -> None:
    own = {"outputs": [output(worst_ratio=0.5)]}
    scaled = {"outputs": [output(worst_ratio=0.9, max_error=2.0)], "label": "inputs scaled by 4"}
    small = scale_task.workloads[1]
    found = verification_of(scale_task, [(small, own), (small, scaled)])
    assert found.passed and found.worst_ratio == 0.5 and found.max_error == 2.0
    wrong = {"outputs": [output(mismatches=1, first=0)], "label": "inputs scaled by 4"}
    found = verification_of(scale_task, [(small, own), (small, wrong)])
    assert found.detail.startswith("small (inputs scaled by 4): 1 of 1000")


def test_the_error_ratio_against_an_honest_run_is_reported(scale_task: KernelTask) -> None:
    excess = Excess("y", 3.5, 64.0, 3.5e-8, 1e-8, 1.0, None)
    assert verification_of(scale_task, [], excess=excess).error_ratio == 3.5


def test_outputs_that_are_wrong_only_while_timed_fail(scale_task: KernelTask) -> None:
    good = verification_of(scale_task, [(scale_task.workloads[0], {"outputs": [output()]})])
    main = scale_task.workloads[0]
    assert mistimed(scale_task, good, [(main, {"outputs": [output()]})], []) is None
    timed = [(main, {"outputs": [output(mismatches=8, first=5)]})]
    found = mistimed(scale_task, good, timed, ["input x of case 1"])
    assert found is not None and not found.passed and found.rounds == good.rounds
    assert found.detail.startswith("while being timed: main: 8 of 1000 elements of y wrong")
    assert "input x of case 1 was changed" in found.detail


def test_timing_summarises_blocks_of_pairs() -> None:
    block = {"baseline_us": [200.0, 210.0, 190.0], "candidate_us": [100.0, 105.0, 95.0]}
    answer = {"blocks": [block] * 5}
    found = workload_timing("candidate-x", answer, clocks(host=100))
    assert found.median_us == pytest.approx(100) and found.baseline_us == pytest.approx(200)
    assert found.speedup == pytest.approx(2) and found.rounds == 15
    assert len(found.samples_us) == len(found.baseline_samples_us) == 15
    assert found.host_us == pytest.approx(100)
    assert found.detectable == pytest.approx(0)
    assert workload_timing("candidate-x", answer, clocks(host=100)) == found


def test_one_block_has_an_interval_and_no_detectable_effect() -> None:
    answer = {"blocks": [{"baseline_us": [2.0] * 5, "candidate_us": [1.0] * 5}]}
    assert workload_timing("candidate-x", answer, clocks()).detectable is None


def test_believable_timings_are_believed() -> None:
    assert why_workload_suspect(clocks(), 100, 90) is None
    assert why_workload_suspect(clocks(event=30, host=31, outside=32), 100, 110) is None


@pytest.mark.parametrize(
    ("seen", "time_us", "floor", "complaint"),
    [
        (clocks(host=50), 100.0, 0.0, "worker's clock"),
        (clocks(outside=50), 100.0, 0.0, "judge's clock"),
        (clocks(event=31), 100.0, 0.0, "CUDA events count"),
        (clocks(), 100.0, 112.0, "faster than"),
    ],
)
def test_unbelievable_timings_are_suspect(
    seen: Clocks, time_us: float, floor: float, complaint: str
) -> None:
    assert complaint in (why_workload_suspect(seen, time_us, floor) or "")


def test_the_floor_is_the_tighter_of_memory_and_compute(scale_task: KernelTask) -> None:
    moved = 8 * (1 << 20)
    assert floor_us(scale_task, RATES, 0) == pytest.approx(moved / 1100e9 * 1e6)
    assert floor_us(scale_task, RATES, moved) == pytest.approx((1 << 20) / 50e12 * 1e6)
    assert floor_us(scale_task.model_copy(update={"cost": None}), RATES, 0) == 0


def test_tensor_work_has_a_floor_where_its_rate_is_sure(scale_task: KernelTask) -> None:
    rates = replace(RATES, bf16_tflop_per_s=800)
    moved = 8 * (1 << 20)

    def floor(unit: str, known: Rates = rates) -> float:
        cost = Cost(bytes="8 * n", flops="n", math=unit)  # type: ignore[arg-type]
        return floor_us(scale_task.model_copy(update={"cost": cost}), known, moved)

    assert floor("bf16") == pytest.approx((1 << 20) / 800e12 * 1e6)
    assert floor("tf32") == pytest.approx((1 << 20) / 400e12 * 1e6)
    assert floor("fp16") == 0, "some boards take fp16 twice as fast with fp16 accumulation"
    assert floor("bf16", RATES) == 0


def error_of(
    error: float, wanted: float, honest: float, *, elements: int = 6400, dtype: str = "float32"
) -> list[tuple[str, Excess]]:
    """A run in which each element of size `wanted` errs by `error`; an honest one by `honest`."""

    def sums(error: float) -> dict[str, Any]:
        return {
            "name": "y", "dtype": dtype, "expected_dtype": "float64", "elements": elements,
            "square_error": [elements * error**2], "square_expected": [elements * wanted**2],
        }  # fmt: skip

    run = {"outputs": [sums(error)], "honest": [sums(honest)]}
    return whole_errors([("main", run)])


def test_an_error_as_large_as_the_output_is_wrong_whatever_the_precision() -> None:
    told = unrelated_error(error_of(1e-4, 1e-4, 1e-11))
    assert told == (
        "main: y is within the tolerance, but its error is 100 % of the output itself: "
        "more than any rounding makes"
    )
    assert unrelated_error(error_of(1e-5, 1e-4, 1e-11)) is None, "a precision may err by a tenth"
    assert unrelated_error(error_of(0.5e-4, 1e-4, 1e-6)) is None, "honest arithmetic errs as well"


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("elements", [1, 8, 1000])
def test_zeros_are_no_rounding_of_any_type_however_few_they_are(dtype: str, elements: int) -> None:
    rounding = error_of(0.004, 1.0, 0.0, elements=elements, dtype="bfloat16")
    assert unrelated_error(rounding) is None
    assert unrelated_error(error_of(1.0, 1.0, 0.0, elements=elements, dtype=dtype)) is not None


def test_outputs_of_zeros_or_integers_have_no_unrelated_error() -> None:
    assert unrelated_error(error_of(1e-9, 0.0, 0.0)) is None
    assert unrelated_error(error_of(1.0, 1.0, 0.0, dtype="int32")) is None
