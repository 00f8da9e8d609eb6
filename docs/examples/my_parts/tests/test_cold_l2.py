"""Numbers that are ill, and numbers that only look it."""

from __future__ import annotations

from my_parts.cold_l2 import TOOL

from mcts.domain import KernelProfile, Metric, Profile, Work
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext

WORK = Work(bytes=2**28, flops=2**26)


def advice(**counters: float) -> list[str]:
    metrics = {getattr(m, name): Metric(value=value) for name, value in counters.items()}
    kernel = KernelProfile(name="k", metrics=metrics)
    profile = Profile(kernels=(kernel,))
    finding = TOOL.examine(KernelContext(work=WORK, profile=profile, kernel=kernel))
    return [] if finding is None else [finding.advice]


def test_speaks_where_a_full_memory_delivers_the_data_again() -> None:
    (said,) = advice(DRAM=90, L2_HIT=12, DRAM_READ_BYTES=3 * WORK.bytes)
    assert "3.0 times" in said and "12 %" in said


def test_is_silent_about_a_stream_whose_l2_has_nothing_to_find() -> None:
    assert advice(DRAM=90, L2_HIT=0, DRAM_READ_BYTES=WORK.bytes) == []


def test_is_silent_otherwise() -> None:
    assert advice(DRAM=90, L2_HIT=80, DRAM_READ_BYTES=3 * WORK.bytes) == []
    assert advice(DRAM=40, L2_HIT=12, DRAM_READ_BYTES=3 * WORK.bytes) == []
    assert advice(DRAM=90, L2_HIT=12) == []
