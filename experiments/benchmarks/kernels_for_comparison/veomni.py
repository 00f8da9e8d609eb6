"""VeOmni's grouped products in Triton (Apache-2.0), run from a checkout of its own.

https://github.com/ByteDance-Seed/VeOmni, `veomni/ops/kernels/moe/_kernels/kernel/group_gemm.py`:
`group_gemm_same_nk` (a row of experts' inputs by each expert's matrix) and `group_gemm_same_mn`
(gradients of those matrices). Only the files of these kernels are imported, not the package, which
wants a whole training stack; what they ask of it, the name of a device and a logger, is given here.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.benchmarks.cutlass_kernels.contest import Variant
from experiments.benchmarks.cutlass_kernels.grouped import REFUSALS, failing_as_launch
from mcts.errors import InputError

KERNEL = "veomni.ops.kernels.moe._kernels.kernel.group_gemm"
_TILES = (64, 128, 256)
_DEPTHS = (32, 64, 128)
_WARPS_AND_STAGES = ((4, 3), (4, 4), (8, 3), (8, 4))
_GROUPS = (4, 8, 16)
Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def configurations() -> Iterator[dict[str, int]]:
    """A grid of 324, of which some do not fit a block's shared memory.

    The one that its autotuner, which is off, would take is among them (tile 128 x 256 x 64).
    """
    for m, n, k, (warps, stages), group in itertools.product(
        _TILES, _TILES, _DEPTHS, _WARPS_AND_STAGES, _GROUPS
    ):
        yield {
            "BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": group, "num_warps": warps,
            "num_stages": stages,
        }  # fmt: skip


def load_kernels(checkout: Path, *, device: Any) -> ModuleType:
    """The module of the kernels. `device` is what it calls for the GPU: ``torch.cuda``.

    InputError if `checkout` has no such file, or if it asks for more than is given here.
    """
    if not (checkout / Path(*KERNEL.split("."))).with_suffix(".py").is_file():
        raise InputError(f"{checkout} is no checkout of VeOmni: it has no {KERNEL}")
    for name in _packages():
        package = ModuleType(name)
        package.__path__ = [str(checkout / Path(*name.split(".")))]
        sys.modules[name] = package
    helpers = {
        "device": {
            "get_torch_device": lambda: device,
            "get_device_name": lambda: device.get_device_name(),
            "synchronize": lambda: device.synchronize(),
        },
        "logging": {"get_logger": logging.getLogger},
    }
    for name, functions in helpers.items():
        module = ModuleType(f"veomni.utils.{name}")
        for function, value in functions.items():
            setattr(module, function, value)
        sys.modules[module.__name__] = module
        setattr(sys.modules["veomni.utils"], name, module)
    try:
        return importlib.import_module(KERNEL)
    except ImportError as error:
        raise InputError(f"the kernels of {checkout} cannot be imported: {error}") from None


def _packages() -> list[str]:
    """The packages that the kernels lie in or import from."""
    parts = KERNEL.split(".")[:-1]
    above = [".".join(parts[: end + 1]) for end in range(len(parts))]
    kernels = ".".join(parts[:-1])
    return [*above, "veomni.utils", f"{kernels}.utils", f"{above[-1]}.triton_utils"]


class VeOmni:
    """The kernels as variants: ``a`` and ``b`` are the product's inputs, `ends` int64."""

    def __init__(self, kernels: ModuleType) -> None:
        self._kernels = kernels
        self._failures = _failures()

    def as_it_comes(
        self, direction: str, a: Any, b: Any, out: Any, ends: Any, *, family: str
    ) -> list[Variant]:
        """By its own functions, which know no tuning for this GPU unless the checkout has one."""
        if direction == "wgrad":
            call = partial(
                self._kernels.group_gemm_same_mn, a=a, b=b, c=out, cumsum_K=ends, max_K=len(a),
                transpose_a=True, transpose_b=False,
            )  # fmt: skip
        else:
            call = partial(
                self._kernels.group_gemm_same_nk, a=a, b=b, cumsum_M=ends, max_M=len(a),
                transpose_a=False, transpose_b=direction == "forward",
            )  # fmt: skip
        return [Variant(name=family, family=family, call=failing_as_launch(call, self._failures))]

    def tuned(
        self, direction: str, a: Any, b: Any, out: Any, ends: Any, *, family: str
    ) -> list[Variant]:
        """The same kernels with every configuration of `configurations`."""
        return [
            Variant(
                name=f"{family}: {' '.join(f'{key} {value}' for key, value in found.items())}",
                family=f"{family}, {found['BLOCK_M']}x{found['BLOCK_N']}x{found['BLOCK_K']}",
                call=failing_as_launch(
                    partial(self._launch, direction, a, b, out, ends, found), self._failures
                ),
            )
            for found in configurations()
        ]

    def _launch(
        self, direction: str, a: Any, b: Any, out: Any, ends: Any, found: dict[str, int]
    ) -> None:
        kernel, grid, arguments = _call(self._kernels, direction, a, b, out, ends, found)
        kernel[grid](**arguments)


def _call(
    kernels: ModuleType, direction: str, a: Any, b: Any, out: Any, ends: Any, found: dict[str, int]
) -> tuple[Any, tuple[int, int], dict[str, Any]]:
    """A kernel without its table of tuned values, its grid and its arguments."""
    m, n = found["BLOCK_M"], found["BLOCK_N"]
    if direction == "wgrad":
        experts, high, wide = out.shape
        arguments = {
            "a_ptr": a, "b_ptr": b, "c_ptr": out, "cumsum_K": ends, "total_K": len(b),
            "G": experts, "M": high, "N": wide, "TRANSPOSE_A": True, "TRANSPOSE_B": False,
            "ACCUMULATE_TO_C": False,
        }  # fmt: skip
        kernel = kernels.group_gemm_same_mn_kernel.fn
        return kernel, (-(-high // m) * -(-wide // n), experts), arguments | found
    experts, wide, deep = b.shape
    if direction == "dgrad":
        wide, deep = deep, wide
    arguments = {
        "a_ptr": a, "b_ptr": b, "c_ptr": out, "act_ptr": None, "cumsum_M": ends,
        "max_M": len(a), "total_M": len(a), "G": experts, "K": deep, "N": wide,
        "TRANSPOSE_A": False, "TRANSPOSE_B": direction == "forward", "ACCUMULATE_TO_C": False,
        "ACTIVATION": None, "SAVE_ACTIVATION": False,
    }  # fmt: skip
    kernel = kernels.group_gemm_same_nk_kernel.fn
    return kernel, (-(-len(a) // m) * -(-wide // n), experts), arguments | found


def compile_ahead(checkout: Path, shapes: Mapping[str, Sequence[Shapes]], *, jobs: int) -> int:
    """Compile all configurations into Triton's cache, `jobs` processes at a time.

    shapes: by direction, those of ``a``, ``b`` and ``out``. Returns how many do not compile.
    """
    todo = [
        (str(checkout), direction, each, found)
        for direction, works in shapes.items()
        for each in works
        for found in configurations()
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return sum(pool.map(_failed_to_compile, todo, chunksize=8))


def _failed_to_compile(work: tuple[str, str, Shapes, dict[str, int]]) -> bool:
    import torch

    checkout, direction, shapes, found = work
    kernels = sys.modules.get(KERNEL) or load_kernels(Path(checkout), device=torch.cuda)
    a, b, out = (_like(torch, shape) for shape in shapes)
    ends = torch.zeros(1, dtype=torch.int64, device="cuda")
    kernel, grid, arguments = _call(kernels, direction, a, b, out, ends, found)
    try:
        kernel.run(grid=grid, warmup=True, **arguments)
    except _failures():
        return True
    return False


def _like(torch: Any, shape: tuple[int, ...]) -> Any:
    """A tensor of this shape that takes no memory to speak of."""
    return torch.empty(1, dtype=torch.bfloat16, device="cuda").expand(shape)


def _failures() -> tuple[type[Exception], ...]:
    """What a configuration that does not fit this GPU raises."""
    try:
        from triton.errors import TritonError
    except ImportError:
        return REFUSALS
    return (TritonError, AssertionError, *REFUSALS)
