"""A stand-in for the CUDA driver: device memory is host memory, kernels are C++ or Python.

The judge's own kernels are those of `support.cu`, compiled for the host with one thread a block, so
that their arguments and their arithmetic are the real ones. A "cubin" here is the name of an entry
in `PROGRAMS`, which maps kernels to Python functions of their arguments.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profilers.measuring.rates import SUPPORT_SOURCE

PRELUDE = r"""
#include <algorithm>
#include <cmath>
#include <cstring>
#define __device__
#define __forceinline__ inline
#define __global__
#define __restrict__
struct Dim { unsigned x, y, z; };
static Dim gridDim{1, 1, 1}, blockDim{1, 1, 1}, blockIdx{0, 0, 0}, threadIdx{0, 0, 0};
struct uint4 { unsigned x, y, z, w; };
using std::max;
using std::min;
template <class To, class From> static To bits(From from)
{ To to; std::memcpy(&to, &from, sizeof to); return to; }
static float __uint_as_float(unsigned x) { return bits<float>(x); }
static unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static double cospi(double x) { return std::cos(3.14159265358979323846 * x); }
static float cospif(float x) { return (float)cospi(x); }
template <class T> static T __shfl_xor_sync(unsigned, T, int) { return 0; }
template <class T> static void atomicAdd(T* at, T x) { *at += x; }
template <class T> static void atomicMax(T* at, T x) { *at = std::max(*at, x); }
static float half_to_float(unsigned short x) { return (float)bits<_Float16>(x); }
static unsigned short float_to_half(float x) { return bits<unsigned short>((_Float16)x); }
"""
KERNELS = {
    "rooftree_fill": ("void*", "u64", "int", "int", "u64"),
    "rooftree_seal": ("void*", "u64", "u64", "u64"),
    "rooftree_cut_tf32": ("void*", "void*", "u64"),
    "rooftree_checksum": ("void*", "u64", "u64*"),
    "rooftree_compare": ("void*", "void*", "u64", "int", "int", "double", "double", "u64*",
                         "u64", "u64", "u64", "u64"),
}  # fmt: skip

Kernel = Callable[..., None]
PROGRAMS: dict[bytes, Callable[[], dict[str, Kernel]]] = {}
"""Makes the kernels of a program anew at each load, as a module's globals are."""


def compile_support(folder: Path) -> ctypes.CDLL | None:
    """The judge's kernels as a library of the host; None without a compiler for it."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    source = SUPPORT_SOURCE.read_text().split('extern "C" __global__ void rooftree_copy')[0]
    source = re.sub(
        r"__device__ __forceinline__ (float half_to_float|unsigned short float_to_half)\(.*?\n}\n",
        "", source, flags=re.DOTALL,
    )  # fmt: skip
    wrappers = []
    for kernel, types in KERNELS.items():
        values = ", ".join(f"*({kind}*)arguments[{i}]" for i, kind in enumerate(types))
        wrappers.append(
            f'extern "C" void run_{kernel}(unsigned rows, void** arguments) {{ gridDim.y = rows; '
            f"for (blockIdx.y = 0; blockIdx.y < rows; ++blockIdx.y) {kernel}({values}); }}\n"
        )
    path = folder / "support.cpp"
    path.write_text(PRELUDE + source + "".join(wrappers))
    library = folder / "support.so"
    command = [compiler, "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", str(path)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


class Driver:
    """The entry points of libcuda that a worker uses. Every call takes `tick_us` of event time."""

    def __init__(self, support: ctypes.CDLL) -> None:
        self._support = support
        self._blocks: dict[int, Any] = {}
        self._modules: dict[int, dict[str, Kernel]] = {}
        self._functions: dict[int, tuple[str, Kernel | None]] = {}
        self._events: dict[int, float] = {}
        self._next = 1
        self.now_us = 0.0
        self.call_us: dict[str, float] = {}
        self.resets = 0
        self.launched: list[str] = []
        self.freed_events = 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name == "cuFuncGetParamInfo":  # a driver before 12.4
            raise AttributeError(name)
        return lambda *arguments: getattr(type(self), f"on_{name}", Driver._fine)(self, *arguments)

    def memory(self) -> dict[int, int]:
        """Size by address of all that is allocated."""
        return {pointer: len(block) for pointer, block in self._blocks.items()}

    def _fine(self, *_arguments: Any) -> int:
        return 0

    def _handle(self) -> int:
        self._next += 1
        return self._next

    def on_cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 1
        return 0

    def on_cuDeviceGetAttribute(self, value: Any, attribute: int, _device: int) -> int:
        value._obj.value = {16: 4, 38: 1 << 20}.get(attribute, 0)
        return 0

    def on_cuMemAlloc_v2(self, pointer: Any, size: int) -> int:
        block = (ctypes.c_ubyte * size)()
        pointer._obj.value = ctypes.addressof(block)
        self._blocks[pointer._obj.value] = block
        return 0

    def on_cuMemFree_v2(self, pointer: int) -> int:
        del self._blocks[pointer]
        return 0

    def on_cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        free._obj.value = total._obj.value = 1 << 34
        return 0

    def on_cuMemcpyHtoDAsync_v2(self, to: int, source: int, size: int, _stream: Any) -> int:
        ctypes.memmove(to, source, size)
        return 0

    def on_cuMemcpyDtoHAsync_v2(self, to: Any, source: int, size: int, _stream: Any) -> int:
        ctypes.memmove(to, source, size)
        return 0

    def on_cuMemsetD8Async(self, pointer: int, value: int, size: int, _stream: Any) -> int:
        ctypes.memset(pointer, value, size)
        return 0

    def on_cuModuleLoadData(self, module: Any, content: bytes) -> int:
        module._obj.value = self._handle()
        self._modules[module._obj.value] = PROGRAMS[content]() if content in PROGRAMS else {}
        return 0

    def on_cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        kernel = self._modules[module.value].get(name.decode())
        if kernel is None and not name.startswith(b"rooftree_"):
            return 500
        function._obj.value = self._handle()
        self._functions[function._obj.value] = (name.decode(), kernel)
        return 0

    def on_cuEventCreate(self, event: Any, _flags: int) -> int:
        event._obj.value = self._handle()
        return 0

    def on_cuEventDestroy_v2(self, _event: Any) -> int:
        self.freed_events += 1
        return 0

    def on_cuEventRecord(self, event: Any, _stream: Any) -> int:
        self._events[event.value] = self.now_us
        return 0

    def on_cuEventElapsedTime(self, milliseconds: Any, first: Any, last: Any) -> int:
        passed_us = self._events[last.value] - self._events[first.value]
        milliseconds._obj.value = passed_us / 1e3
        return 0

    def on_cuCtxResetPersistingL2Cache(self) -> int:
        self.resets += 1
        return 0

    def on_cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        name, kernel = self._functions[function.value]
        rows, array = rest[1], rest[8]
        self.launched.append(name)
        if kernel is not None:
            self.now_us += self.call_us.get(name, 10.0)
            kernel(array)
        elif name in KERNELS:
            getattr(self._support, f"run_{name}")(rows, array)
        return 0
