"""A mixture of experts' matrix product: inputs, the right result, our variants and their rivals.

The rivals: a cuBLAS call per expert, whose sizes the host is told, captured in a CUDA graph so that
launches cost little; PyTorch's grouped product; and a kernel in Triton, tuned here as ours is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.benchmarks.cutlass_kernels.building import Built, Configuration
from experiments.benchmarks.cutlass_kernels.comparing import disagreement, expert_products
from experiments.benchmarks.cutlass_kernels.contest import SEED, Call, GemmProblem, Variant
from experiments.benchmarks.cutlass_kernels.launching import Grouped, LaunchFailed
from experiments.benchmarks.cutlass_kernels.products import order
from mcts.text import first_line

SOURCE, ONE_MAP = "grouped_gemm.cu", "expert_gemm.cu"
_TILES = (
    ((128, 256, 64), (2, 1), False),
    ((128, 256, 64), (1, 2), False),
    ((128, 256, 64), (1, 1), False),
    ((256, 128, 64), (1, 2), False),
    ((128, 192, 64), (1, 2), True),
    ((128, 192, 64), (1, 1), True),
    ((128, 128, 64), (2, 1), True),
    ((128, 128, 64), (1, 2), True),
    ((128, 128, 64), (1, 1), True),
)
"""Tile, cluster, and whether pingpong."""
_DEALING = ((1, 1), (0, 0), (1, 0), (0, 1))
CONFIGURATIONS = (
    *(
        Configuration(
            source=ONE_MAP,
            tile=tile,
            cluster=cluster,
            pingpong=pingpong,
            extra=(("DYNAMIC", dynamic), ("SKIP", skip)),
        )
        for dynamic, skip in _DEALING
        for tile, cluster, pingpong in _TILES
    ),
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(1, 2)),
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(1, 1)),
    Configuration(source=SOURCE, tile=(128, 192, 64), cluster=(1, 2), pingpong=True),
    Configuration(source=SOURCE, tile=(128, 192, 64), cluster=(1, 1), pingpong=True),
    Configuration(source=SOURCE, tile=(128, 128, 64), cluster=(1, 2), pingpong=True),
    Configuration(source=SOURCE, tile=(128, 128, 64), cluster=(1, 1), pingpong=True),
)
SIZES = ((8, 8192, 14336, 4096), (32, 16384, 4096, 7168), (128, 32768, 1536, 2048))
"""Experts, rows of all of them, N, K."""
ORDERS = tuple((raster, swizzle) for raster in (1, 2) for swizzle in (1, 2, 4, 8))
CUBLAS, TORCH, TRITON = "cuBLAS per expert", "torch grouped_mm", "Triton"
RIVALS = (CUBLAS, TORCH, TRITON)
REFUSALS: tuple[type[Exception], ...] = (RuntimeError, ValueError)
"""What PyTorch raises for sizes or strides that it does not take."""
_SPREAD = 0.5
"""Standard deviation of the logarithm of an expert's share: the busiest of 8 gets about twice its
even share."""
_MOST_SAID = 200


def loaded(torch: Any, built: Sequence[Built]) -> list[tuple[Built, Grouped]]:
    """The libraries that compiled, ready to be called."""
    return [
        (one, Grouped(Path(one.library), torch=torch)) for one in built if one.library is not None
    ]


def family(configuration: Configuration) -> str:
    """A configuration's name, with whose tensor maps it uses."""
    maps = "one map" if configuration.source == ONE_MAP else "maps per group"
    return f"{maps}, {configuration.name}"


def uneven_counts(torch: Any, experts: int, rows: int) -> list[int]:
    """How many of `rows` each expert gets, drawn by unequal shares; their sum is `rows`."""
    torch.manual_seed(SEED)
    shares = torch.softmax(torch.randn(experts) * _SPREAD, 0)
    drawn = torch.multinomial(shares, rows, replacement=True)
    return [int(count) for count in torch.bincount(drawn, minlength=experts)]


def grouped_work(
    torch: Any,
    libraries: Sequence[tuple[Built, Grouped]],
    *,
    size: tuple[int, int, int, int],
    say: Callable[[str], None],
) -> tuple[GemmProblem, list[Variant], dict[str, list[Variant]]]:
    """The work at one of `SIZES` with normal random inputs, our variants, and the rivals."""
    experts, rows, n, k = size
    counts = uneven_counts(torch, experts, rows)
    x = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    ends = torch.tensor(counts, device="cuda").cumsum(0).to(torch.int32)
    reference = expert_products(torch, "forward", x, w, counts)

    def failure(call: Call) -> str:
        y.fill_(float("nan"))
        result = call()
        torch.cuda.synchronize()
        return disagreement(torch, y if result is None else result, reference, k)

    rivals = {
        CUBLAS: _per_expert(torch, x, w, y, counts, say),
        TORCH: by_torch(torch, x, w.transpose(-2, -1), ends, say),
        TRITON: _by_triton(torch, x, w, y, ends, say),
    }
    name = f"{experts} experts, {rows} x {n} x {k}"
    problem = GemmProblem(name=name, flops=2 * rows * n * k, failure=failure)
    return problem, in_every_order(libraries, x, w, y, ends), rivals


def in_every_order(
    libraries: Sequence[tuple[Built, Callable[..., None]]], *tensors: Any
) -> list[Variant]:
    """Each library on the same tensors, in each of `ORDERS`."""
    return [
        Variant(
            name=f"{family(built.configuration)}, {order(raster)}, bands of {swizzle}",
            family=family(built.configuration),
            call=partial(product, *tensors, raster=raster, swizzle=swizzle),
            built=built,
        )
        for built, product in libraries
        for raster, swizzle in ORDERS
    ]


def _per_expert(
    torch: Any, x: Any, w: Any, y: Any, counts: Sequence[int], say: Callable[[str], None]
) -> list[Variant]:
    pieces = [
        (part, one.t(), out)
        for part, one, out in zip(
            x.split(list(counts)), w, y.split(list(counts)), strict=True
        )
        if part.shape[0] > 0
    ]  # fmt: skip

    def loop() -> None:
        for part, one, out in pieces:
            torch.matmul(part, one, out=out)

    loop()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            loop()
    except RuntimeError as error:
        say(f"{CUBLAS}: no CUDA graph, plain calls instead: {first_line(error)[:_MOST_SAID]}")
        return [Variant(name=f"{CUBLAS}, plain calls", family=CUBLAS, call=loop)]
    return [Variant(name=f"{CUBLAS}, in a CUDA graph", family=CUBLAS, call=graph.replay)]


def by_torch(
    torch: Any, left: Any, right: Any, ends: Any, say: Callable[[str], None]
) -> list[Variant]:
    """PyTorch's grouped product, if it has one."""
    product = getattr(torch.nn.functional, "grouped_mm", None) or getattr(
        torch, "_grouped_mm", None
    )
    if product is None:
        say(f"{TORCH}: PyTorch {torch.__version__} has none")
        return []
    call = partial(product, left, right, offs=ends)
    return [Variant(name=TORCH, family=TORCH, call=failing_as_launch(call, REFUSALS))]


def _by_triton(
    torch: Any, x: Any, w: Any, y: Any, ends: Any, say: Callable[[str], None]
) -> list[Variant]:
    try:
        kernel = importlib.import_module(
            "experiments.benchmarks.kernels_for_comparison.grouped_triton"
        )
    except ImportError as error:
        say(f"{TRITON}: {first_line(error)[:_MOST_SAID]}")
        return []
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    variants = []
    for tile, warps, stages in kernel.TILES:
        for flatten in (False, True):
            grouped = kernel.Grouped(tile, warps, stages, flatten=flatten)
            grids = {"persistent": processors}
            if not flatten:
                grids["a program per tile"] = grouped.most_tiles(x, w)
            family = f"Triton {'x'.join(map(str, tile))} {warps} warps {stages} stages"
            for band in kernel.BANDS:
                for grid, programs in grids.items():
                    call = partial(grouped, x, w, y, ends, band=band, programs=programs)
                    name = f"{family}, {grid}{', flattened' * flatten}, bands of {band}"
                    variants.append(
                        Variant(
                            name=name,
                            family=family,
                            call=failing_as_launch(call, kernel.FAILURES),
                        )
                    )
    return variants


def failing_as_launch(call: Call, failures: tuple[type[Exception], ...]) -> Call:
    """Others' failures (too much shared memory, unsupported strides) as our own kind of error."""

    def guarded() -> Any:
        try:
            return call()
        except failures as error:
            raise LaunchFailed(first_line(error)[:_MOST_SAID]) from error

    return guarded
