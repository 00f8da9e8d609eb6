"""From a worker's numbers to words and nouns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcts.domain import Cost, KernelTask
from profilers.ceilings import Rates
from profilers.verdict import floor_us, timing, unravel, verification, why_suspect

RATES = Rates(copy_gb_per_s=1000, read_gb_per_s=1100, fp32_tflop_per_s=50, launch_us=2)


def output(**found: Any) -> dict[str, Any]:
    clean = {"name": "y", "elements": 1000, "mismatches": 0, "nans": 0, "max_error": 0.0,
             "worst_ratio": 0.0}  # fmt: skip
    return clean | found


def batch(host: float, event: float, calls: int = 100) -> dict[str, Any]:
    return {"batch": {"calls": calls, "host_us": host, "event_us": event}}


def test_a_clean_comparison_passes(scale_task: KernelTask) -> None:
    run = {"outputs": [output(max_error=1e-9, worst_ratio=0.25)]}
    found = verification(scale_task, [(scale_task.workloads[1], run)] * 2, rounds=2)
    assert found.passed and found.detail == ""
    assert (found.rounds, found.max_error, found.worst_ratio) == (2, 1e-9, 0.25)


def test_a_wrong_output_says_where_and_how_much(scale_task: KernelTask) -> None:
    wrong = output(mismatches=37, nans=12, first=317, got=0.1, expected=0.2, worst_ratio=None)
    run = {"outputs": [wrong]}
    found = verification(scale_task, [(scale_task.workloads[1], run)], rounds=1)
    assert not found.passed
    assert found.worst_ratio is None
    assert found.detail.startswith(
        "small: 37 of 1000 elements of y wrong; first at [317]: got 0.1, expected 0.2"
    )
    assert found.detail.endswith("; 12 NaN")


def test_changed_inputs_and_stray_stores_fail(scale_task: KernelTask) -> None:
    run = {"outputs": [output()]}
    damaged = ["input x of case 1", "memory beyond y of case 2"]
    found = verification(scale_task, [(scale_task.workloads[0], run)], damaged, rounds=1)
    assert not found.passed
    assert "input x of case 1 was changed" in found.detail
    assert "past the end" in found.detail


def test_positions_are_row_major() -> None:
    assert unravel(317, (10, 100)) == (3, 17)
    assert unravel(23, (2, 3, 4)) == (1, 2, 3)


def test_timing_summarises_paired_samples() -> None:
    answer = {"baseline_us": [200.0, 210.0, 190.0] * 5, "candidate_us": [100.0, 105.0, 95.0] * 5,
              **batch(host=3000, event=2990, calls=30)}  # fmt: skip
    found = timing("candidate-x", answer)
    assert found.median_us == 100 and found.baseline_us == 200
    assert found.speedup == pytest.approx(2)
    assert found.host_us == 100
    assert timing("candidate-x", answer) == found


def test_believable_timings_are_believed() -> None:
    assert why_suspect(batch(3000, 2950), 100, 90) is None
    assert why_suspect(batch(3700, 3000), 100, 110) is None


@pytest.mark.parametrize(
    ("answer", "time_us", "floor", "complaint"),
    [
        (batch(5000, 3000), 100.0, 0.0, "clocks disagree"),
        (batch(3000, 3100), 100.0, 0.0, "CUDA events count"),
        (batch(3000, 2950), 100.0, 112.0, "faster than"),
    ],
)
def test_unbelievable_timings_are_suspect(
    answer: dict[str, Any], time_us: float, floor: float, complaint: str
) -> None:
    assert complaint in (why_suspect(answer, time_us, floor) or "")


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
