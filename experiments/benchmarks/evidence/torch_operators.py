"""The bundled tasks in PyTorch, as rivals and as a check.

Each takes the task's inputs in order, as tensors of the task's types, and returns the call to time,
which takes no arguments. What a user would prepare once, such as a matrix in a sparse format, is
prepared before. Where PyTorch has no operator of its own for a task, the call is a sequence of
several, which eager PyTorch does not fuse: `CALLED` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tensors = Sequence[Any]
Call = Callable[[], Any]
EPSILON = 1e-5
"""The epsilon of `rms_norm`."""
_BINS, _BAND = 256, 4096
_RADIUS = 4
_WEIGHTS = (-205 / 24, 8 / 5, -1 / 5, 8 / 315, -1 / 560)
CALLED: Mapping[str, str] = {
    "row_softmax": "softmax",
    "transpose": "contiguous, of t()",
    "gemm_fp32": "matmul",
    "gemm_bf16": "matmul",
    "gelu": "unfused: add, gelu",
    "rms_norm": "rms_norm",
    "sum_reduction": "sum",
    "prefix_sum": "cumsum",
    "histogram": "unfused: mul, floor, histc",
    "conv2d": "conv2d",
    "conv2d_tf32": "conv2d, TF32 allowed",
    "attention": "scaled_dot_product_attention",
    "attention_causal": "scaled_dot_product_attention",
    "stencil3d": "unfused: 25 shifted views, scaled and added",
    "spmv": "matmul of a CSR matrix",
}
"""What each task's call runs: one operator, or several that eager PyTorch does not fuse."""


def operators(torch: Any) -> dict[str, Callable[[Tensors], Call]]:
    """The tasks in PyTorch, by name."""
    functional = torch.nn.functional

    def plain(function: Callable[..., Any]) -> Callable[[Tensors], Call]:
        return lambda inputs: lambda: function(*inputs)

    return {
        "row_softmax": plain(lambda x: torch.softmax(x, dim=1)),
        "transpose": plain(lambda x: x.t().contiguous()),
        "gemm_fp32": plain(torch.matmul),
        "gemm_bf16": plain(torch.matmul),
        "gelu": plain(lambda x, bias: functional.gelu(x + bias)),
        "rms_norm": plain(
            lambda x, weight: functional.rms_norm(x, weight.shape, weight, eps=EPSILON)
        ),
        "sum_reduction": plain(lambda x: x.sum(dim=1)),
        "prefix_sum": plain(lambda x: torch.cumsum(x, 0, dtype=x.dtype)),
        "histogram": plain(lambda x: _histogram(torch, x)),
        "conv2d": plain(functional.conv2d),
        "conv2d_tf32": plain(lambda x, weight: _in_tf32(torch, x, weight)),
        "attention": plain(
            lambda q, k, v: functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
        ),
        "attention_causal": plain(
            lambda q, k, v: functional.scaled_dot_product_attention(
                q[None], k[None], v[None], is_causal=True
            )[0]
        ),
        "stencil3d": plain(_stencil),
        "spmv": lambda inputs: _sparse(torch, *inputs),
    }


def _in_tf32(torch: Any, x: Any, weight: Any) -> Any:
    with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True):
        return torch.nn.functional.conv2d(x, weight)


def _histogram(torch: Any, x: Any) -> Any:
    return torch.histc(torch.floor(x * 16), bins=_BINS, min=-_BINS // 2, max=_BINS // 2 - 1)


def _stencil(u: Any) -> Any:
    inner = slice(_RADIUS, -_RADIUS)
    total = _WEIGHTS[0] * u[inner, inner, inner]
    for axis in range(3):
        for distance in range(1, _RADIUS + 1):
            for offset in (-distance, distance):
                place = [inner, inner, inner]
                place[axis] = slice(_RADIUS + offset, u.shape[axis] - _RADIUS + offset)
                total += _WEIGHTS[distance] * u[tuple(place)]
    return total


def _sparse(torch: Any, value: Any, position: Any, length: Any, x: Any) -> Call:
    """The matrix in compressed rows, as cuSPARSE takes it."""
    n, width = value.shape
    kept = torch.arange(width, device=value.device) < ((length.long() + 9) * width // 16)[:, None]
    rows = torch.arange(n, device=value.device)
    columns = (rows[:, None] + torch.floor(position * _BAND).long()) % n
    ends = torch.zeros(n + 1, dtype=torch.int32, device=value.device)
    ends[1:] = kept.sum(dim=1).cumsum(0)
    matrix = torch.sparse_csr_tensor(ends, columns[kept].int(), value[kept], size=(n, n))
    return lambda: matrix @ x
