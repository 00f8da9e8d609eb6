"""The three products of a mixture of experts' layer, forward and backward, and their rivals.

Y = X W^T forward, dX = dY W and dW = dY^T X backward, at the shapes of public models. The rivals:
PyTorch's grouped product, and VeOmni's kernels in Triton as they come and tuned here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.benchmarks.cutlass_kernels.building import Built, Configuration
from experiments.benchmarks.cutlass_kernels.comparing import (
    Direction,
    disagreement,
    expert_products,
)
from experiments.benchmarks.cutlass_kernels.contest import Call, GemmProblem, Variant
from experiments.benchmarks.cutlass_kernels.grouped import (
    CONFIGURATIONS,
    ONE_MAP,
    SOURCE,
    TORCH,
    by_torch,
    in_every_order,
    uneven_counts,
)
from experiments.benchmarks.cutlass_kernels.launching import Grouped, WeightGradient
from experiments.benchmarks.kernels_for_comparison.veomni import Shapes, VeOmni

DIRECTIONS: tuple[Direction, ...] = ("forward", "dgrad", "wgrad")
AS_IT_COMES, TUNED = "VeOmni as it comes", "VeOmni, tuned here"
RIVALS = (AS_IT_COMES, TUNED, TORCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The first layer, gates and values in one, of a model's experts.

    rows: of all experts, a token's once for each expert that it goes to. n, k: what the layer gives
    and takes for each row.
    """

    model: str
    experts: int
    rows: int
    n: int
    k: int


LAYERS = (
    Layer(model="Mixtral 8x7B", experts=8, rows=8192, n=28672, k=4096),
    Layer(model="Qwen3 30B-A3B", experts=128, rows=32768, n=1536, k=2048),
    Layer(model="DeepSeek-V3, an eighth of its experts", experts=32, rows=32768, n=4096, k=7168),
)
"""4096 tokens, each to 2 experts of Mixtral and to 8 of the others; of DeepSeek's 256 experts one
of eight GPUs has 32, and gets the rows of eight times as many tokens."""

_GRADIENT_TILES = (
    ((128, 256, 64), (2, 1), False),
    ((128, 256, 64), (1, 2), False),
    ((128, 256, 64), (1, 1), False),
    ((256, 128, 64), (2, 1), False),
    ((256, 128, 64), (1, 2), False),
    ((256, 128, 64), (1, 1), False),
    ((128, 128, 128), (2, 1), False),
    ((128, 192, 64), (2, 1), True),
    ((128, 192, 64), (1, 2), True),
    ((128, 192, 64), (1, 1), True),
    ((128, 128, 64), (2, 1), True),
    ((128, 128, 64), (1, 2), True),
    ((128, 128, 64), (1, 1), True),
    ((64, 256, 64), (2, 1), True),
    ((64, 256, 64), (1, 1), True),
)
_ONE_MAP_GRADIENT_TILES = (
    ((128, 128, 64), (1, 1), True),
    ((128, 128, 64), (1, 2), True),
    ((128, 128, 64), (2, 1), True),
    ((128, 192, 64), (1, 1), True),
    ((128, 192, 64), (1, 2), True),
    ((128, 192, 64), (2, 1), True),
    ((64, 256, 64), (1, 1), True),
    ((64, 256, 64), (1, 2), True),
    ((64, 256, 64), (2, 1), True),
    ((128, 256, 64), (1, 2), False),
    ((128, 256, 64), (2, 1), False),
    ((256, 128, 64), (1, 2), False),
    ((256, 128, 64), (2, 1), False),
    ((128, 128, 128), (1, 2), True),
)


def configurations(direction: Direction) -> tuple[Configuration, ...]:
    """What is compiled for a direction."""
    if direction == "forward":
        return CONFIGURATIONS
    if direction == "dgrad":
        return tuple(replace(one, extra=(*one.extra, ("B_LAYOUT", 1))) for one in CONFIGURATIONS)
    return tuple(
        Configuration(source=source, tile=tile, cluster=cluster, pingpong=pingpong, extra=extra)
        for source, tiles, extra in (
            (SOURCE, _GRADIENT_TILES, (("WGRAD", 1),)),
            (ONE_MAP, _ONE_MAP_GRADIENT_TILES, (("DYNAMIC", 1), ("SKIP", 0), ("WGRAD", 1))),
        )
        for tile, cluster, pingpong in tiles
    )


def loaded(
    torch: Any, built: Sequence[Built], direction: Direction
) -> list[tuple[Built, Callable[..., None]]]:
    """The libraries that compiled for a direction, ready to be called."""
    return [
        (one, _library(torch, one.library, direction)) for one in built if one.library is not None
    ]


def _library(torch: Any, path: Path, direction: Direction) -> Callable[..., None]:
    if direction == "wgrad":
        return WeightGradient(path, torch=torch)
    return Grouped(path, torch=torch, w_rows_of_n=direction == "dgrad")


def shapes_of(layer: Layer, direction: Direction) -> Shapes:
    """Of what a direction multiplies, in order, and of what it writes."""
    x, y = (layer.rows, layer.k), (layer.rows, layer.n)
    w = (layer.experts, layer.n, layer.k)
    return {"forward": (x, w, y), "dgrad": (y, w, x), "wgrad": (y, x, w)}[direction]


def layer_work(
    torch: Any,
    libraries: Sequence[tuple[Built, Callable[..., None]]],
    *,
    layer: Layer,
    direction: Direction,
    veomni: VeOmni,
    say: Callable[[str], None],
) -> tuple[GemmProblem, list[Variant], dict[str, list[Variant]]]:
    """The product with normal random inputs, our variants, and the rivals'."""
    counts = uneven_counts(torch, layer.experts, layer.rows)
    ends = torch.tensor(counts, device="cuda").cumsum(0)
    a_shape, b_shape, out_shape = shapes_of(layer, direction)
    a = torch.randn(a_shape, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(b_shape, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(out_shape, device="cuda", dtype=torch.bfloat16)
    reference = expert_products(torch, direction, a, b, counts)
    depth = {"forward": layer.k, "dgrad": layer.n, "wgrad": max(counts)}[direction]

    def failure(call: Call) -> str:
        out.fill_(float("nan"))
        result = call()
        torch.cuda.synchronize()
        found = out if result is None else result
        return disagreement(torch, found.reshape(reference.shape), reference, depth)

    short = ends.to(torch.int32)
    left, right = {
        "forward": (a, b.transpose(-2, -1)), "dgrad": (a, b), "wgrad": (a.t(), b),
    }[direction]  # fmt: skip
    rivals = {
        AS_IT_COMES: veomni.as_it_comes(direction, a, b, out, ends, family=AS_IT_COMES),
        TUNED: veomni.tuned(direction, a, b, out, ends, family=TUNED),
        TORCH: by_torch(torch, left, right, short, say),
    }
    flops = 2 * layer.rows * layer.n * layer.k
    problem = GemmProblem(name=f"{layer.model}, {direction}", flops=flops, failure=failure)
    return problem, in_every_order(libraries, a, b, out, short), rivals
