"""What a problem's model does, operation by operation, and which algebra that allows.

The rewritings are told by the pattern alone: whether one holds is for the reader to see, since a
step's scalars and axes are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import inline
from mcts.domain import Ceilings, Hardware, KernelProfile, ModelStep, Profile

STEPS_TITLE = "What the model does, step by step"
STEPS = "+steps/1"
"""What the id of a prompt with this section ends with; raise the number with its words."""
_MOST_STEPS = 24
_MOST_KERNELS = 8
_MOST_REWRITINGS = 8
_PRODUCTS = ("convolution", "mm", "addmm", "bmm", "baddbmm", "linear")
_SCALES = ("mul", "div", "add", "sub", "rsub", "neg")
_SUMS = ("sum", "mean")
_WINDOWS = ("avg_pool", "adaptive_avg_pool")
_MAXES = ("max_pool", "adaptive_max_pool", "amax", "amin", "max", "min")
_MONOTONE = (
    "relu", "tanh", "sigmoid", "hardtanh", "clamp", "clamp_min", "leaky_relu", "elu", "exp",
    "softplus", "hardsigmoid", "log", "sqrt",
)  # fmt: skip
_SHAPED = ("tril", "triu", "diag", "diag_embed")
_ON_CUDNN = ("convolution", "cudnn_rnn")
_PRECISIONS = (("tf32", "TF32"), ("bf16", "bf16"), ("f16", "fp16"), ("sgemm", "fp32"))


def steps_section(profile: Profile | None, hardware: Hardware | None) -> Section | None:
    """The steps, the kernels that PyTorch runs for them, and the rewritings; None if no steps are
    known.
    """
    if profile is None or not profile.steps:
        return None
    steps = profile.steps
    ceilings = hardware.ceilings if hardware is not None else None
    rows = [_row(at, step, ceilings) for at, step in enumerate(steps[:_MOST_STEPS], start=1)]
    head = "| step | operation | output | from | MB | GFLOP | alone at least, us |"
    table = "\n".join([head, "| --- | --- | --- | --- | --- | --- | --- |", *rows])
    parts = [table]
    if len(steps) > _MOST_STEPS:
        parts.append("What follows is left out.")
    if kernels := _kernels(profile.kernels):
        parts.append(f"PyTorch's kernels for it, longest first: {kernels}.")
    if rewritings := list(dict.fromkeys(_rewritings(steps, shown=_MOST_STEPS)))[:_MOST_REWRITINGS]:
        lead = "Rewritings that this order of steps may allow, each with an id for the plan:"
        parts.append("\n".join([lead, "", *(f"- {each}" for each in rewritings)]))
    return Section(
        title=STEPS_TITLE,
        parts=tuple(Part(text, "steps", rank) for rank, text in enumerate(parts)),
        joint="\n\n",
    )


def _row(at: int, step: ModelStep, ceilings: Ceilings | None) -> str:
    name = inline(step.name, longest=40) + (f" ({inline(step.detail)})" if step.detail else "")
    before = dict.fromkeys(step.after)
    after = ", ".join(str(place + 1) for place in before) or "inputs"
    flops = _figure(step.flops / 1e9) if step.flops else ""
    least = _least_us(step, ceilings)
    told = _figure(least) if least is not None else ""
    return (
        f"| {at} | {name} | {inline(step.output)} | {after} | {_figure(step.bytes / 1e6)} | "
        f"{flops} | {told} |"
    )


def _least_us(step: ModelStep, ceilings: Ceilings | None) -> float | None:
    """The longer of moving its tensors and doing its operations, as PyTorch runs fp32."""
    if ceilings is None:
        return None
    moving = step.bytes / ceilings.copy_gb_per_s / 1e3
    bf16 = ceilings.bf16_tflop_per_s
    tensor_cores = step.name in _ON_CUDNN and bf16 is not None
    rate = bf16 / 2 if tensor_cores and bf16 is not None else ceilings.fp32_tflop_per_s
    return max(moving, step.flops / rate / 1e6 if rate else 0.0)


def _kernels(kernels: Sequence[KernelProfile]) -> str:
    total = sum(kernel.total_us or 0.0 for kernel in kernels)
    ranked = sorted(kernels, key=lambda kernel: -(kernel.total_us or 0.0))[:_MOST_KERNELS]
    return "; ".join(
        f"`{inline(kernel.name.replace('`', ''), longest=60)}` {kernel.total_us:.1f} us"
        f" ({kernel.total_us / total:.0%}{_precision(kernel.name)})"
        for kernel in ranked
        if kernel.total_us and total
    )


def _precision(name: str) -> str:
    low = name.lower()
    return next((f", {told}" for sign, told in _PRECISIONS if sign in low), "")


def _rewritings(steps: Sequence[ModelStep], *, shown: int) -> Iterator[str]:
    """Of the first steps that are shown; what reads them may come later."""
    followers = [
        [at for at, other in enumerate(steps) if place in other.after]
        for place in range(len(steps))
    ]

    def behind(place: int, kinds: tuple[str, ...]) -> tuple[list[int], int | None]:
        """Steps of these kinds in a row behind `place`, and what follows them; each is the only
        reader of the one before.
        """
        row: list[int] = []
        while len(followers[place]) == 1 and followers[place][0] < shown:
            place = followers[place][0]
            if len(steps[place].after) != 1 or not _is(steps[place], kinds):
                return row, place
            row.append(place)
        return row, None

    for place, step in enumerate(steps[:shown]):
        number = place + 1
        if _is(step, _PRODUCTS):
            scales, end = behind(place, _SCALES)
            if end is not None and len(steps[end].after) == 1:
                yield from _reduced(step, number, steps[end], end + 1)
            if scales:
                yield (
                    f"`algebra.fold_scale`: {_named(scales)} behind step {number}, scaling or "
                    "shifting its result: its epilogue, or factors on its weights and bias, can "
                    "take that along."
                )
            yield from _of_convolution(step, number)
            if any(_is(steps[before], _SHAPED) for before in step.after):
                yield (
                    f"`algebra.structured_product`: an operand of step {number} is diagonal or "
                    "triangular: what multiplies zeros need not be done."
                )
        first = not any(_is(steps[before], _MONOTONE) for before in step.after)
        if _is(step, _MONOTONE) and first:
            row, end = behind(place, _MONOTONE)
            if end is not None and _is(steps[end], _MAXES):
                yield (
                    f"`algebra.max_before_monotone`: what grows with its argument, as "
                    f"{_named([place, *row])} may, can come behind the extremum of step {end + 1}: "
                    f"{_figure(_factor(steps[place], steps[end]))} times fewer evaluations."
                )


def _reduced(step: ModelStep, number: int, end: ModelStep, last: int) -> Iterator[str]:
    if _is(end, _WINDOWS) and step.name == "convolution":
        yield (
            f"`algebra.reduce_before_linear`: step {last} averages windows of what step {number} "
            "makes, and both are linear: together they are one convolution with more taps and a "
            "longer stride."
        )
    if not _is(end, _SUMS):
        return
    yield (
        f"`algebra.reduce_before_linear`: step {last} sums what step {number} makes, and both are "
        f"linear: sums over its outputs can be taken over its weights or inputs first, which can "
        f"leave one part in {_figure(_factor(step, end))} of its {_figure(step.flops / 1e9)} GFLOP."
    )


def _of_convolution(step: ModelStep, number: int) -> Iterator[str]:
    shape = re.search(r"weight (\d+)x(\d+)x([\dx]+)", step.detail)
    stride = re.search(r"stride ([\dx]+)", step.detail)
    if shape is None or stride is None:
        return
    taps, strides = (tuple(map(int, found.split("x"))) for found in (shape[3], stride[1]))
    if "transposed" in step.detail:
        if (phases := prod(strides)) > 1:
            yield (
                f"`algebra.transposed_by_phase`: in step {number} each output is reached by about "
                f"one tap in {phases}: {phases} dense convolutions, one for each phase of the "
                "outputs, skip the zeros."
            )
    elif (
        taps == (3, 3)
        and set(strides) == {1}
        and "dilation 1x1" in step.detail
        and "groups" not in step.detail
    ):
        yield (
            f"`algebra.winograd`: step {number} is 3x3 with stride 1: F(2x2, 3x3) needs 2.25 times "
            "fewer multiplications, at a somewhat larger error."
        )


def _named(places: Sequence[int]) -> str:
    numbers = ", ".join(str(place + 1) for place in places)
    return f"step{'s' if len(places) > 1 else ''} {numbers}"


def _figure(value: float) -> str:
    if value >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.01 else "under 0.01"


def _factor(before: ModelStep, after: ModelStep) -> float:
    return before.elements / max(1, after.elements)


def _is(step: ModelStep, kinds: tuple[str, ...]) -> bool:
    """Whether a step is of a kind; `avg_pool` is one in any number of dimensions."""
    base = re.sub(r"\d?d(_with_indices)?$", "", step.name)
    return step.name in kinds or base in kinds
