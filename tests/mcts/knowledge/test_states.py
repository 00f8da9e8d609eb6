"""From a guidance and a profile to a state, and from two candidates to what was done."""

from __future__ import annotations

import pytest

from mcts.domain import (
    AxisGap,
    Candidate,
    Finding,
    Guidance,
    KernelProfile,
    Metric,
    Profile,
    Roofline,
    SassFacts,
    StateSignature,
)
from mcts.domain import metrics as m
from mcts.knowledge.moves import Act, acts_of
from mcts.knowledge.states import state_of
from tests.codegen.cases import DEFAULTS, SCALE, scale_task

ROOFLINE = Roofline(
    bound="memory", level="DRAM", confidence=0.9, near_peak=True, method_budget={},
    gap=AxisGap(compute=0.9, memory=0.1, latency=0.5),
)  # fmt: skip
FINDING = Finding(tool="coalescing", axis="memory", strength=0.8, evidence=(), advice="do")
WEAKER = Finding(tool="tail_wave", axis="latency", strength=0.2, evidence=(), advice="do")


def profile(sass: SassFacts | None = None, **metrics: float) -> Profile:
    values = {getattr(m, name): Metric(value=value) for name, value in metrics.items()}
    return Profile(kernels=(KernelProfile(name="k", metrics=values, sass=sass),))


def test_nothing_known_is_a_state_of_its_own() -> None:
    assert state_of(None) == state_of(Guidance()) == StateSignature()


def test_a_state_names_bottlenecks_stall_and_arithmetic() -> None:
    state = state_of(
        Guidance(roofline=ROOFLINE, findings=(FINDING, WEAKER)),
        profile(
            SassFacts(instructions=90, fma_ops=8, integer_ops=40),
            STALL_LONG_SCOREBOARD=5.0, STALL_BARRIER=1.0, STALL_NOT_SELECTED=9.0,
        ),
    )  # fmt: skip
    assert state == StateSignature(
        bound="memory", near_peak=True, level="DRAM", arithmetic="fp32", secondary="coalescing",
        stall="long_scoreboard",
    )  # fmt: skip
    assert str(state) == "memory (DRAM), near its peak, fp32, coalescing, long_scoreboard"


@pytest.mark.parametrize(
    ("found", "arithmetic"),
    [
        (profile(SassFacts(instructions=9, tensor_ops=1, fma_ops=50)), "tensor"),
        (profile(SassFacts(instructions=9, double_ops=6, fma_ops=5)), "fp64"),
        (profile(SassFacts(instructions=9, half_ops=6, fadd_ops=1)), "half"),
        (profile(SassFacts(instructions=9, integer_ops=6)), "integer"),
        (profile(TENSOR_PIPE=20.0), "tensor"),
        (profile(FFMA=1e6), "fp32"),
        (profile(), "unknown"),
    ],
)
def test_arithmetic_is_read_from_machine_code_or_counters(found: Profile, arithmetic: str) -> None:
    assert state_of(None, found).arithmetic == arithmetic


def test_closeness_falls_with_what_differs() -> None:
    state = state_of(Guidance(roofline=ROOFLINE, findings=(FINDING,)))
    differing = [{}, {"secondary": "tail_wave"}, {"level": "L2"}, {"near_peak": False}]
    others = [state.model_copy(update=update) for update in differing]
    assert [state.closeness(other) for other in others] == [3, 2, 1, 0]
    assert [other.closeness(state) for other in others] == [3, 2, 1, 0]


def variant(source: str = SCALE, *, methods: tuple[str, ...] = (), **moved: int) -> Candidate:
    return Candidate(source=source, tunables={**DEFAULTS, **moved}, methods=methods)


VEC, ITEMS = "memory.vectorized_loads", "latency.work_per_thread"


def test_a_step_from_the_default_applies_and_a_step_back_undoes() -> None:
    task = scale_task()
    plain, wide = variant(methods=(VEC,)), variant(methods=(VEC,), VEC=4)
    assert acts_of(plain, wide, task) == (Act(VEC, undone=False),)
    assert acts_of(wide, plain, task) == (Act(VEC, undone=True),)
    silent = variant(VEC=4)
    assert acts_of(silent, variant(), task) == (Act(VEC, undone=True),), "claimed or not"
    assert acts_of(variant(), silent, task) == ()


def test_a_change_of_source_applies_what_it_claims() -> None:
    other = variant(SCALE.replace("2.0f", "two"), methods=(VEC, "memory.new"))
    assert acts_of(variant(VEC=4), other, scale_task()) == (Act(VEC), Act("memory.new"))


def test_what_is_not_claimed_is_not_an_act() -> None:
    assert acts_of(variant(), variant(VEC=4, methods=(ITEMS,)), scale_task()) == (Act(ITEMS),)
