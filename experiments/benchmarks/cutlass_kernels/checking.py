"""A library in a process of its own: does it run, and are its results right?

``python -m experiments.benchmarks.cutlass_kernels.checking KIND LIBRARY [--b-rows-of-n]``, KIND
product, grouped or gradient, prints one JSON object; `failure` is empty if all is well. A kernel
that faults or hangs takes only this process with it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.benchmarks.cutlass_kernels.comparing import (
    GuardedMatrix,
    disagreement,
    expert_products,
)
from experiments.benchmarks.cutlass_kernels.grouped import ONE_MAP
from experiments.benchmarks.cutlass_kernels.launching import Grouped, Product, WeightGradient
from mcts.errors import RooftreeError
from mcts.text import first_line

_DEADLINE_S = 120
_ODD_SHAPES = ((1000, 1096, 520), (8, 8, 8), (384, 2056, 4104))
"""Not divisible by any tile; as small as TMA allows; and few tiles with a long sum."""


_ODD_GROUPS = (
    ((130, 0, 1, 257, 64), 264, 520),
    ((0, 0, 7), 1032, 72),
    (tuple(range(40)), 136, 200),
)
"""Rows of each expert, N, K: experts without rows at each end and in the middle, more of them than
a warp has lanes, and tiles that reach into the next expert."""
_WHOLE_ROWS = ((128, 63, 256, 65, 64), 264, 520)
"""As those: experts whose rows fill whole steps of 64 or 128, and ones that miss that by one."""
_SPARE_ROWS = 200
"""Rows of NaN behind the last expert's, into which its last step along the depth may reach."""
_WHOLE_STEPS = 64
"""`expert_gemm.cu` built with B_LAYOUT 1 takes whole steps along K, and refuses others."""


def check_elsewhere(kind: str, library: Path, *, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """`check` in another process. Its `failure` also tells of a crash or of a time that ran out."""
    command = [
        sys.executable, "-m", "experiments.benchmarks.cutlass_kernels.checking",
        kind, str(library), *options,
    ]  # fmt: skip
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S)
    except subprocess.TimeoutExpired:
        return {"failure": f"did not end within {_DEADLINE_S} s: a barrier that never completes?"}
    try:
        found: dict[str, Any] = json.loads(said.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = said.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"failure": f"ended with code {said.returncode}: {last[0][:200]}"}
    return found


def check_product(torch: Any, library: Path, *, b_rows_of_n: bool) -> dict[str, Any]:
    """Runs shapes with ragged edges, in every order of tiles; the first disagreement is kept."""
    product = Product(library, torch=torch, b_rows_of_n=b_rows_of_n)
    found: dict[str, Any] = {"failure": "", **product.facts()}
    torch.manual_seed(7)
    for m, n, k in _ODD_SHAPES:
        a = torch.randn(m, k, device="cuda").bfloat16()
        b = torch.randn(*((k, n) if b_rows_of_n else (n, k)), device="cuda").bfloat16()
        reference = a.double() @ (b.double() if b_rows_of_n else b.double().t())
        for raster, swizzle in ((0, 1), (1, 4), (2, 8)):
            c = GuardedMatrix(torch, m, n)
            product(a, b, c.inside, raster=raster, swizzle=swizzle)
            torch.cuda.synchronize()
            wrong = disagreement(torch, c.inside, reference, k) or c.overwritten()
            if wrong:
                where = f"{m} x {n} x {k}, raster {raster}, swizzle {swizzle}"
                return {**found, "failure": f"{where}: {wrong}"}
    return found


def check_grouped(torch: Any, library: Path, *, w_rows_of_n: bool) -> dict[str, Any]:
    """As `check_product`, for experts with few, no and uneven rows."""
    grouped = Grouped(library, torch=torch, w_rows_of_n=w_rows_of_n)
    found: dict[str, Any] = {"failure": "", **grouped.facts()}
    torch.manual_seed(7)
    whole_steps = w_rows_of_n and library.name.startswith(Path(ONE_MAP).stem)
    for counts, n, odd_k in _ODD_GROUPS:
        k = -(-odd_k // _WHOLE_STEPS) * _WHOLE_STEPS if whole_steps else odd_k
        rows, experts = sum(counts), len(counts)
        x = torch.randn(rows, k, device="cuda").bfloat16()
        w = torch.randn(experts, *((k, n) if w_rows_of_n else (n, k)), device="cuda").bfloat16()
        ends = torch.tensor(counts, device="cuda").cumsum(0).to(torch.int32)
        reference = expert_products(torch, "dgrad" if w_rows_of_n else "forward", x, w, counts)
        wrong = _wrong_order(torch, grouped, x, w, ends, reference, (rows, n), depth=k)
        if wrong:
            return {**found, "failure": f"{experts} experts, {rows} rows, n={n}, k={k}, {wrong}"}
    return found


def check_gradient(torch: Any, library: Path) -> dict[str, Any]:
    """As `check_grouped`, for the gradient of the weights, zero where an expert has no rows.

    Rows of other experts must not come in, whatever they hold.
    """
    gradient = WeightGradient(library, torch=torch)
    found: dict[str, Any] = {"failure": "", **gradient.facts()}
    torch.manual_seed(7)
    for counts, n, k in (*_ODD_GROUPS, _WHOLE_ROWS, ((0, 0), 64, 72)):
        rows, experts = sum(counts), len(counts)
        dy, x = (
            torch.randn(rows + _SPARE_ROWS * (rows > 0), columns, device="cuda").bfloat16()
            for columns in (n, k)
        )
        dy[rows:], x[rows:] = float("nan"), float("nan")
        ends = torch.tensor(counts, device="cuda").cumsum(0).to(torch.int32)
        reference = expert_products(torch, "wgrad", dy[:rows], x[:rows], counts)
        shape, depth = (experts, n, k), max(counts)
        wrong = _wrong_order(torch, gradient, dy, x, ends, reference, shape, depth=depth)
        if wrong:
            return {**found, "failure": f"{experts} experts, {rows} rows, n={n}, k={k}, {wrong}"}
    return found


def _wrong_order(
    torch: Any,
    product: Callable[..., None],
    a: Any,
    b: Any,
    ends: Any,
    reference: Any,
    shape: tuple[int, ...],
    *,
    depth: int,
) -> str:
    """What is wrong in the first order of tiles in which anything is; "" if nothing is.

    shape: of what the product writes, whose rows `reference` has below each other.
    """
    for raster, swizzle in ((1, 1), (1, 4), (2, 8)):
        out = GuardedMatrix(torch, *reference.shape)
        product(a, b, out.inside.view(shape), ends, raster=raster, swizzle=swizzle)
        torch.cuda.synchronize()
        if wrong := disagreement(torch, out.inside, reference, depth) or out.overwritten():
            return f"raster {raster}, swizzle {swizzle}: {wrong}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.cutlass_kernels.checking"
    )
    parser.add_argument("kind", choices=["product", "grouped", "gradient"])
    parser.add_argument("library", type=Path)
    parser.add_argument("--b-rows-of-n", action="store_true")
    options = parser.parse_args()
    import torch

    try:
        if options.kind == "product":
            found = check_product(torch, options.library, b_rows_of_n=options.b_rows_of_n)
        elif options.kind == "gradient":
            found = check_gradient(torch, options.library)
        else:
            found = check_grouped(torch, options.library, w_rows_of_n=options.b_rows_of_n)
    except (RooftreeError, RuntimeError) as error:
        found = {"failure": first_line(error)[:300]}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
