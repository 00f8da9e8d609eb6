"""bf16 matrix products: inputs, the right result, our variants and cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.benchmarks.cutlass_kernels.building import Built, Configuration
from experiments.benchmarks.cutlass_kernels.comparing import disagreement
from experiments.benchmarks.cutlass_kernels.contest import SEED, Call, GemmProblem, Variant
from experiments.benchmarks.cutlass_kernels.launching import Product

SOURCE = "bf16_gemm.cu"
CONFIGURATIONS = (
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(2, 1)),
    Configuration(source=SOURCE, tile=(256, 128, 64), cluster=(2, 1)),
    Configuration(source=SOURCE, tile=(128, 128, 64), cluster=(2, 1), pingpong=True),
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(2, 1), stream_k=True),
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(1, 2)),
    Configuration(source=SOURCE, tile=(256, 128, 64), cluster=(1, 2)),
    Configuration(source=SOURCE, tile=(64, 256, 64), cluster=(2, 1), pingpong=True),
    Configuration(source=SOURCE, tile=(256, 128, 64), cluster=(2, 1), stream_k=True),
    Configuration(source=SOURCE, tile=(128, 256, 64), cluster=(1, 1)),
    Configuration(source=SOURCE, tile=(128, 192, 64), cluster=(2, 1), pingpong=True),
    Configuration(source=SOURCE, tile=(256, 192, 64), cluster=(2, 1)),
    Configuration(source=SOURCE, tile=(128, 128, 128), cluster=(2, 1), pingpong=True),
)
SHAPES = ((8192, 8192, 8192), (4096, 4096, 16384), (16384, 1024, 8192), (4096, 14336, 4096))
ORDERS = tuple((raster, swizzle) for raster in (1, 2) for swizzle in (1, 2, 4, 8))
RIVAL = "cuBLAS"


def loaded(torch: Any, built: Sequence[Built], *, b_rows_of_n: bool) -> list[tuple[Built, Product]]:
    """The libraries that compiled, ready to be called."""
    return [
        (one, Product(Path(one.library), torch=torch, b_rows_of_n=b_rows_of_n))
        for one in built
        if one.library is not None
    ]


def product_work(
    torch: Any,
    products: Sequence[tuple[Built, Product]],
    *,
    shape: tuple[int, int, int],
    b_rows_of_n: bool,
) -> tuple[GemmProblem, list[Variant], dict[str, list[Variant]]]:
    """The work at one shape (M, N, K) with normal random inputs, our variants, and cuBLAS.

    Their results are compared with a product in fp64; both write to the same matrix.
    """
    m, n, k = shape
    torch.manual_seed(SEED)
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(*((k, n) if b_rows_of_n else (n, k)), device="cuda", dtype=torch.bfloat16)
    right = b if b_rows_of_n else b.t()
    reference = a.double() @ right.double()
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def failure(call: Call) -> str:
        c.fill_(float("nan"))
        call()
        torch.cuda.synchronize()
        return disagreement(torch, c, reference, k)

    ours = [
        Variant(
            name=f"{built.configuration.name}, {order(raster)}, bands of {swizzle}",
            family=built.configuration.name,
            call=partial(product, a, b, c, raster=raster, swizzle=swizzle),
            built=built,
        )
        for built, product in products
        for raster, swizzle in ORDERS
    ]
    cublas = Variant(name=RIVAL, family=RIVAL, call=partial(torch.matmul, a, right, out=c))
    work = GemmProblem(name=f"{m} x {n} x {k}", flops=2 * m * n * k, failure=failure)
    return work, ours, {RIVAL: [cublas]}


def order(raster: int) -> str:
    """In words, the macro RASTER."""
    return {0: "the library's order", 1: "along M", 2: "along N"}[raster]
