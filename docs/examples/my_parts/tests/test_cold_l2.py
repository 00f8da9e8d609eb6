"""Numbers that are ill, and numbers that only look it."""

from __future__ import annotations

from my_parts.cold_l2 import TOOL

from mcts.domain import KernelProfile, Metric, Profile
from mcts.domain import metrics as m
from microtools.advisor import RooflineAdvisor


def advice(**counters: float) -> list[str]:
    metrics = {getattr(m, name): Metric(value=value) for name, value in counters.items()}
    profile = Profile(kernels=(KernelProfile(name="k", metrics=metrics),))
    guidance = RooflineAdvisor([TOOL]).examine(work=None, profile=profile, time_us=None)
    return [finding.advice for finding in guidance.findings]


def test_speaks_of_a_cold_l2_under_a_full_memory() -> None:
    assert "12 %" in advice(L2_HIT=12, DRAM=90)[0]


def test_is_silent_otherwise() -> None:
    assert advice(L2_HIT=80, DRAM=90) == []
    assert advice(L2_HIT=12, DRAM=40) == []
    assert advice(DRAM=90) == []
