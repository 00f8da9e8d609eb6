"""What a CUDA API call means for a timeline, by the name that CUPTI gives it."""

from __future__ import annotations

import re

LAUNCHES = frozenset(
    {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernelEx",
     "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice", "cudaLaunch",
     "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
     "cudaLaunchCooperativeKernelMultiDevice"}
)  # fmt: skip
GRAPH_LAUNCHES = frozenset({"cuGraphLaunch", "cudaGraphLaunch"})
WAITS = frozenset(
    {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cudaDeviceSynchronize",
     "cudaStreamSynchronize", "cudaEventSynchronize", "cudaThreadSynchronize"}
)  # fmt: skip
"""Calls that do nothing but wait. A blocking copy waits too, but is told as the copy it is."""
ALLOCATIONS = frozenset(
    {"cuMemAlloc", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemFree", "cuArrayCreate",
     "cuArray3DCreate", "cuArrayDestroy", "cudaMalloc", "cudaMallocPitch", "cudaMalloc3D",
     "cudaMallocArray", "cudaMalloc3DArray", "cudaMallocManaged", "cudaFree", "cudaFreeArray"}
)  # fmt: skip
"""Calls that may stall the device. Stream-ordered ones (cudaMallocAsync) are their cure."""

_VERSION = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")


def bare_call(name: str) -> str:
    """`cudaLaunchKernel_ptsz_v7000` is `cudaLaunchKernel`."""
    return _VERSION.sub("", name)


def is_runtime(name: str) -> bool:
    """Whether a call belongs to the runtime API, which calls the driver's beneath."""
    return name.startswith("cuda")
