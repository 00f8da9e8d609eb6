"""How far off a product is, computed in several ways that are said to be TF32, on a GPU.

python -m experiments.benchmarks.evidence.tf32_errors [--json]

For each depth and kind of inputs: the root mean square error against float64, over that of a run
on operands rounded to TF32, which is what the judge's bound is a multiple of. It is what
`profilers.kernelbench.judge.settings.TF32_FACTOR` was decided by.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from mcts.errors import InputError

DEPTHS = (256, 1024, 4096, 16384)
ROWS = 1024
SEEDS = (1, 2, 3)
_KEPT = ~0x1FFF


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 2 without a GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(arguments)
    try:
        found = measured()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(found))
        return 0
    names = list(found["errors"][0]["times"])
    print(f"errors over that of operands rounded to TF32, {found['device']}")
    print("| inputs | depth | " + " | ".join(names) + " |")
    print("| --- " * (len(names) + 2) + "|")
    for row in found["errors"]:
        cells = " | ".join(f"{row['times'][name]:.2f}" for name in names)
        print(f"| {row['inputs']} | {row['depth']} | {cells} |")
    return 0


def measured() -> dict[str, Any]:
    """The device and the errors, the greatest over the seeds. InputError without a GPU."""
    try:
        import torch
    except ImportError:
        raise InputError("this needs PyTorch: pip install 'rooftree[torch]'") from None
    if not torch.cuda.is_available():
        raise InputError("this needs a GPU that PyTorch can use")
    torch.backends.cuda.matmul.allow_tf32 = True
    rows = []
    for kind in ("uniform in [0, 1)", "normal"):
        for depth in DEPTHS:
            each = [_errors(kind, depth, seed) for seed in SEEDS]
            times = {name: max(one[name] for one in each) for name in each[0]}
            rows.append({"inputs": kind, "depth": depth, "times": times})
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "errors": rows}


def _errors(kind: str, depth: int, seed: int) -> dict[str, float]:
    import torch

    from profilers.kernelbench.oracle.model_state import to_tf32

    draw: Callable[..., Any] = torch.rand if kind.startswith("uniform") else torch.randn
    device = torch.device("cuda")
    make = torch.Generator(device).manual_seed(seed)
    a = draw(ROWS, depth, device=device, generator=make)
    b = draw(depth, ROWS, device=device, generator=make)
    exact = a.double() @ b.double()

    def error(product: Any) -> float:
        return float((product.double() - exact).square().mean().sqrt())

    def on(convert: Callable[[Any], Any]) -> float:
        """Of a product of converted operands, all of which TF32 can hold."""
        return error(convert(a) @ convert(b))

    def half(accumulate: bool) -> float:
        before = torch.backends.cuda.matmul.allow_fp16_accumulation
        torch.backends.cuda.matmul.allow_fp16_accumulation = accumulate
        try:
            return error(a.half() @ b.half())
        finally:
            torch.backends.cuda.matmul.allow_fp16_accumulation = before

    honest = on(to_tf32)
    found = {
        "PyTorch's TF32": error(a @ b),
        "TF32, truncated": on(lambda x: (x.view(torch.int32) & _KEPT).view(torch.float32)),
        "fp16, fp32 sums": on(lambda x: x.half().float()),
        "fp16, fp32 sums, fp16 result": half(False),
        "fp16 sums": half(True),
        "bf16, fp32 sums": on(lambda x: x.bfloat16().float()),
    }
    return {name: value / honest for name, value in found.items()}


if __name__ == "__main__":
    sys.exit(main())
