"""Whether the candidate's own kernels do the work, for tasks whose policy demands it.

Source can hide what it calls; the names of the kernels that ran are harder to hide. A candidate
that does the work itself still copies, fills and casts with PyTorch's small kernels, so the share
of the time counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcts.domain import KERNELBENCH, Refusal, form_of

ALLOWED_SHARE = 0.25
_LIBRARY = re.compile(
    r"at::native|at_cuda_detail|cublas|cudnn|cutlass|cub::|thrust::|xmma|nvjet|cufft|cusparse"
    r"|cusolver|magma|gemm(?:v|Ex|_|\d|k1)|implicit_convolve|convolve_|_s\d+gemm|sm\d+_xmma"
    r"|flash_(?:fwd|bwd)|fmha|pytorch_flash|winograd|wgrad|dgrad|bn_fw|softmax_warp_forward"
    r"|ampere_|volta_|turing_|hopper_",
    re.IGNORECASE,
)
# What a `host` candidate instantiates of CUTLASS or CUB it has compiled itself.
_LIBRARY_BESIDE_HOST = re.compile(
    r"at::native|at_cuda_detail|cublas|cudnn|xmma|nvjet|cufft|cusparse|cusolver|magma"
    r"|cutlass_\d+_|implicit_convolve|pytorch_flash|ampere_|volta_|turing_|hopper_",
    re.IGNORECASE,
)
_OWN = re.compile(r"compile_cuda|load_inline|cpp_extension|triton\.jit|__global__|RawKernel")


def is_library(kernel: str, *, host: bool = False) -> bool:
    """Whether a kernel's name is that of PyTorch, cuBLAS, cuDNN, CUTLASS, CUB and their like.

    `host`: in a call of a `host` candidate, which compiles what it takes of CUTLASS itself.
    """
    return (_LIBRARY_BESIDE_HOST if host else _LIBRARY).search(kernel) is not None


def library_share(kernels: Sequence[Mapping[str, Any]], *, host: bool = False) -> float:
    """The part of the kernels' time that libraries took; 0 if nothing ran."""
    total = sum(float(kernel["us"]) for kernel in kernels)
    taken = sum(
        float(kernel["us"]) for kernel in kernels if is_library(str(kernel["name"]), host=host)
    )
    return taken / total if total > 0 else 0.0


def forbidden_library(source: str, kernels: Sequence[Mapping[str, Any]]) -> Refusal | None:
    """The refusal of a candidate that leaves the work to libraries, or None if it does not."""
    if not kernels:
        return Refusal(cheat="fallback", evidence="no kernel ran at all during a traced call")
    host = form_of(KERNELBENCH, source).compiles_libraries
    share = library_share(kernels, host=host)
    if share <= ALLOWED_SHARE:
        return None
    longest = max(
        (kernel for kernel in kernels if is_library(str(kernel["name"]), host=host)),
        key=lambda kernel: float(kernel["us"]),
    )
    own_ran = any(not is_library(str(kernel["name"]), host=host) for kernel in kernels)
    has_own = _OWN.search(source) is not None
    return Refusal(
        cheat="fallback" if has_own and not own_ran else "wraps_reference",
        evidence=(
            f"{share:.0%} of the kernels' time is spent in libraries (most in "
            f"{str(longest['name'])[:80]}), which this task's policy forbids"
        ),
    )
