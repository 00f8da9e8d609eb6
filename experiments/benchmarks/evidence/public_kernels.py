"""The strongest public kernel for a bundled task, where there is one and it can be had here.

CUB comes with the CUDA toolkit and is compiled by nvcc (`public_kernels.cu`), Liger by
``pip install liger-kernel``; FlashAttention and cuDNN are called through PyTorch, which has both.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from experiments.benchmarks.evidence.torch_operators import EPSILON, Call, Tensors
from mcts.errors import InputError

Rival = Callable[[Any, Tensors], Call]
"""PyTorch and the task's inputs in order, to the call that is timed."""
_SOURCE = Path(__file__).with_suffix(".cu")


@cache
def _cub() -> ctypes.CDLL:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise InputError("no nvcc here to compile CUB")
    import torch

    arch = "sm_{}{}".format(*torch.cuda.get_device_capability())
    library = Path(tempfile.mkdtemp(prefix="public_kernels_")) / "public_kernels.so"
    command = [nvcc, "-std=c++17", "-O3", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC"]
    done = subprocess.run(
        [*command, "-o", library, _SOURCE], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InputError(f"CUB does not compile here: {done.stderr.strip().splitlines()[-1]}")
    return ctypes.CDLL(str(library))


def _cub_call(
    torch: Any, name: str, x: Any, *, kind: str, count: int, extents: Sequence[int]
) -> Call:
    """The algorithm `name` on `x`, to `count` values of type `kind` that each call returns."""
    function, needed = getattr(_cub(), name), ctypes.c_size_t(0)

    def run(scratch: Any, out: Any) -> None:
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, out)]
        sizes = [ctypes.c_longlong(extent) for extent in extents]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        code = function(scratch, ctypes.byref(needed), *pointers, *sizes, stream)
        if code:
            raise InputError(f"CUB's {name} failed: CUDA error {code}")

    def fresh() -> Any:
        return torch.empty(count, dtype=getattr(torch, kind), device="cuda")

    run(None, fresh())
    scratch = torch.empty(max(1, needed.value), dtype=torch.uint8, device="cuda")

    def call() -> Any:
        out = fresh()
        run(ctypes.c_void_p(scratch.data_ptr()), out)
        return out

    return call


def _prefix_sum(torch: Any, inputs: Tensors) -> Call:
    (x,) = inputs
    return _cub_call(torch, "prefix_sum", x, kind="int32", count=x.numel(), extents=[x.numel()])


def _sum_reduction(torch: Any, inputs: Tensors) -> Call:
    (x,) = inputs
    rows, width = x.shape
    return _cub_call(torch, "sum_reduction", x, kind="float32", count=rows, extents=[rows, width])


def _histogram(torch: Any, inputs: Tensors) -> Call:
    (x,) = inputs
    return _cub_call(torch, "histogram", x, kind="int32", count=256, extents=[x.numel()])


def _liger() -> Any:
    try:
        from liger_kernel.transformers import functional
    except ImportError:
        raise InputError("no Liger here: pip install liger-kernel") from None
    return functional


def _row_softmax(torch: Any, inputs: Tensors) -> Call:
    (x,) = inputs
    return _forward(torch, _liger().liger_softmax, x)


def _rms_norm(torch: Any, inputs: Tensors) -> Call:
    x, weight = inputs
    return _forward(torch, _liger().liger_rms_norm, x, weight, EPSILON)


def _forward(torch: Any, function: Callable[..., Any], *arguments: Any) -> Call:
    def call() -> Any:
        with torch.no_grad():
            return function(*arguments)

    return call


def _product(torch: Any, inputs: Tensors) -> Call:
    a, b = inputs
    return lambda: torch.mm(a, b, out_dtype=torch.float32)


def _convolution(torch: Any, inputs: Tensors) -> Call:
    x, weight = (tensor.to(memory_format=torch.channels_last) for tensor in inputs)

    def call() -> Any:
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True):
            return torch.nn.functional.conv2d(x, weight)

    return call


def _attention(backend: str, *, causal: bool = False) -> Rival:
    def rival(torch: Any, inputs: Tensors) -> Call:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q, k, v = (tensor[None] for tensor in inputs)
        product = torch.nn.functional.scaled_dot_product_attention

        def call() -> Any:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return product(q, k, v, is_causal=causal)[0]

        return call

    return rival


PUBLIC: Mapping[str, Mapping[str, Rival]] = {
    "row_softmax": {"Liger": _row_softmax},
    "rms_norm": {"Liger": _rms_norm},
    "gemm_bf16": {"cuBLAS, fp32 output": _product},
    "sum_reduction": {"CUB, row by row": _sum_reduction},
    "prefix_sum": {"CUB": _prefix_sum},
    "histogram": {"CUB": _histogram},
    "attention": {
        "FlashAttention 2": _attention("FLASH_ATTENTION"),
        "cuDNN": _attention("CUDNN_ATTENTION"),
    },
    "attention_causal": {
        "FlashAttention 2": _attention("FLASH_ATTENTION", causal=True),
        "cuDNN": _attention("CUDNN_ATTENTION", causal=True),
    },
    "conv2d_tf32": {"cuDNN, channels last": _convolution},
}
"""By task, what each public kernel is called."""
