"""Whether a failure is the candidate's fault, the machine's, or unclear until a second try.

A candidate is device code, which can fault, hang and take memory. A worker that dies, and errors
that a failing board shows as well, may be the machine's fault: another process took the last
memory, or the driver was lost.
"""

from __future__ import annotations

import re

from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused

_WORLD = frozenset(
    {
        "CUDA_ERROR_DEINITIALIZED",
        "CUDA_ERROR_NOT_INITIALIZED",
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_INVALID_DEVICE",
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "CUDA_ERROR_DEVICE_NOT_LICENSED",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        "CUDA_ERROR_OPERATING_SYSTEM",
        "CUDA_ERROR_EXTERNAL_DEVICE",
        "CUDA_ERROR_CONTAINED",
        "CUDA_ERROR_UNKNOWN",
    }
)
_NAME = re.compile(r"CUDA_ERROR_\w+")
_HINTS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "check its indices against the shape",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "a vector access needs an address that is a multiple of it",
    "CUDA_ERROR_OUT_OF_MEMORY": "its global arrays or its local memory are larger than the device",
    "CUDA_ERROR_LAUNCH_FAILED": "check its indices, those into shared memory too",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "check inline assembly, and what descriptors point to",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "an endless loop, or far too slow",
    "CUDA_ERROR_ASSERT": "an assertion in its own code failed",
}


def error_name(rejected: RequestRefused) -> str:
    """The driver's name for the error; empty if it was none of CUDA's."""
    found = _NAME.search(str(rejected)) if rejected.kind == "cuda" else None
    return found.group() if found else ""


def may_be_world_fault(failure: ChildGone | RequestRefused) -> bool:
    """Whether something other than the candidate can cause this failure.

    A missed deadline is the candidate's fault, once the GPU is known to work.
    """
    if isinstance(failure, ChildGone):
        return not failure.hung
    name = error_name(failure)
    return name in _WORLD or name.startswith("CUDA_ERROR_SYSTEM_")


def needs_gpu_probe(failure: ChildGone | RequestRefused) -> bool:
    """Whether the GPU must be checked before the candidate is blamed."""
    if isinstance(failure, ChildGone) or may_be_world_fault(failure):
        return True
    return error_name(failure) == "CUDA_ERROR_LAUNCH_FAILED"  # a lost board reports this as well


def fault_text(rejected: RequestRefused, doing: str) -> str:
    """A kernel's fault in words, with a hint for its repair."""
    hint = _HINTS.get(error_name(rejected))
    return f"the kernel faulted {doing}: {rejected}" + (f"; {hint}" if hint else "")
