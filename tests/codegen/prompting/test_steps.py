"""The steps of a problem's model in the first prompt, and the rewritings that they may allow."""

from __future__ import annotations

import re

from codegen.prompting.steps import steps_section
from mcts.domain import KernelProfile, Metric, ModelStep, Profile
from mcts.domain import metrics as m
from mcts.search.trial import Move
from tests.codegen.cases import GPU, full_request, problem_task
from tests.codegen.prompting.test_prompts import built, sections, user


def step(name: str, *after: int, elements: int = 1000, detail: str = "") -> ModelStep:
    flops = 4_000_000_000 if name in ("addmm", "convolution") else 0
    return ModelStep(
        name=name, detail=detail, output="10x100", bytes=8_000_000, flops=flops, elements=elements,
        after=after,
    )  # fmt: skip


def rewritings(*steps: ModelStep) -> list[str]:
    section = steps_section(Profile(steps=steps), GPU)
    assert section is not None
    return re.findall(r"- `algebra\.(\w+)`", section.text)


def test_each_step_has_a_row_with_the_least_that_it_takes_alone() -> None:
    section = steps_section(Profile(steps=(step("addmm"), step("relu", 0))), GPU)
    assert section is not None and GPU.ceilings is not None
    rows = [line for line in section.text.splitlines() if re.match(r"\| \d", line)]
    product_us = 4e9 / GPU.ceilings.fp32_tflop_per_s / 1e6
    moving_us = 8e6 / GPU.ceilings.copy_gb_per_s / 1e3
    assert rows[0] == f"| 1 | addmm | 10x100 | inputs | 8 | 4 | {product_us:.3g} |"
    assert rows[1] == f"| 2 | relu | 10x100 | 1 | 8 |  | {moving_us:.3g} |"
    assert steps_section(Profile(), GPU) is None and steps_section(None, GPU) is None


def test_a_sum_behind_a_product_can_come_first() -> None:
    steps = (step("addmm"), step("mul", 0), step("sum", 1, elements=10))
    assert rewritings(*steps) == ["reduce_before_linear", "fold_scale"]
    text = steps_section(Profile(steps=steps), GPU)
    assert text is not None and "one part in 100 of its 4 GFLOP" in text.text


def test_what_is_not_linear_between_them_or_read_elsewhere_forbids_it() -> None:
    assert rewritings(step("addmm"), step("relu", 0), step("sum", 1, elements=10)) == []
    twice = (step("addmm"), step("sum", 0, elements=10), step("exp", 0))
    assert rewritings(*twice) == []
    of_two = (step("addmm"), step("exp"), step("mul", 0, 1), step("sum", 2, elements=10))
    assert rewritings(*of_two) == []


def test_an_extremum_can_come_before_what_grows() -> None:
    steps = (step("relu"), step("tanh", 0), step("max_pool2d_with_indices", 1, elements=250))
    assert rewritings(*steps) == ["max_before_monotone"]
    assert rewritings(step("gelu"), step("amax", 0, elements=10)) == []


def test_convolutions_are_told_by_their_geometry() -> None:
    plain = "weight 8x4x3x3, stride 1x1, padding 0x0, dilation 1x1"
    assert rewritings(step("convolution", detail=plain)) == ["winograd"]
    wide = plain.replace("stride 1x1", "stride 2x2")
    assert rewritings(step("convolution", detail=wide)) == []
    assert rewritings(step("convolution", detail=f"{wide}, transposed")) == ["transposed_by_phase"]
    assert rewritings(step("convolution", detail=f"{plain}, 4 groups")) == []
    assert rewritings(step("triu"), step("mm", 0)) == ["structured_product"]


def test_a_mean_of_windows_makes_no_promise_of_a_share() -> None:
    steps = (step("convolution", detail="weight 8x4x5x5"), step("avg_pool2d", 0, elements=250))
    section = steps_section(Profile(steps=steps), GPU)
    assert section is not None and "one convolution with more taps" in section.text
    assert "one part in" not in section.text


def test_a_square_is_not_linear() -> None:
    assert rewritings(step("addmm"), step("mul", 0, 0), step("sum", 1, elements=10)) == []


def test_steps_are_left_out_before_what_must_stay() -> None:
    problem = problem_task()
    long = tuple(step("convolution", detail="x" * 90) for _ in range(60))
    request = full_request(
        problem, problem.baseline, Move("improve", 0), profile=Profile(steps=long)
    )
    whole = built(request, problem_steps=True)
    assert "What follows is left out." in user(whole)
    tight = built(request, problem_steps=True, prompt_tokens=5900)
    assert tight.dropped["steps"] and "| 1 | convolution" not in user(tight)


def test_kernels_are_told_with_their_share_and_precision() -> None:
    kernels = tuple(
        KernelProfile(name=name, metrics={m.DURATION: Metric(value=1e3 * us, unit="ns")})
        for name, us in (("copy", 10.0), ("sm90_xmma_gemm_tf32", 30.0))
    )
    section = steps_section(Profile(steps=(step("addmm"),), kernels=kernels), GPU)
    assert section is not None
    assert "`sm90_xmma_gemm_tf32` 30.0 us (75%, TF32); `copy` 10.0 us (25%)." in section.text


def test_only_a_first_implementation_that_is_to_be_told_is() -> None:
    problem = problem_task()
    profile = Profile(steps=(step("addmm"),))
    title = "What the model does, step by step"
    request = full_request(problem, problem.baseline, Move("improve", 0), profile=profile)
    told, plain = built(request, problem_steps=True), built(request)
    assert title in sections(user(told)) and title not in user(plain)
    assert told.id == plain.id.replace("implement/3", "implement/3+steps/1")
    other = full_request(
        problem, problem.baseline.model_copy(update={"source": "x = 1"}), Move("improve", 0),
        profile=profile,
    )  # fmt: skip
    assert title not in user(built(other, problem_steps=True))
