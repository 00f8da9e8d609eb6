# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ for PyTorch tensors, compiled by NVRTC in milliseconds.

Does what `torch.utils.cpp_extension.load_inline` is used for where only device code is wanted:

    kernels = compile_cuda(SOURCE)                      # extern "C" __global__ void scale(...)
    kernels.scale[blocks, 256](x, y, x.numel(), 2.0)    # kernel[grid, block](arguments)
    kernels["tile<float, 4>"][(8, 8), (32, 8), 65536](x, y)    # 65,536 bytes of shared memory
    kernels.copy[64, 128](tensor_map(x, (64, 32)), y)   # in tiles, by tensor copies

Launches go to PyTorch's current device and stream, neither wait nor allocate, and can be captured
in a CUDA graph once the kernel was launched before. Needs PyTorch and a driver of CUDA 12.4 or
newer, and nothing else. It is one file, read downward from the call to the compiler, since
`codegen.self_contained` puts its text, as it stands, into candidates that need nothing of Rooftree.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import operator
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

_INTEGERS: dict[int, Any] = {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32}
_INTEGERS[8] = ctypes.c_int64
_FLOATS: dict[int, Any] = {4: ctypes.c_float, 8: ctypes.c_double}
_C_VALUES = (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array)
_TENSOR_TYPES = {"uint8": 0, "int8": 0, "int32": 3, "int64": 5, "float16": 6, "float32": 7}
_TENSOR_TYPES |= {"float64": 8, "bfloat16": 9, "float8_e4m3fn": 0, "float8_e5m2": 0}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

# Host headers that kernels like to include: NVRTC knows what is in them, but has no such files.
_FIXED = {"8": "char", "16": "short", "32": "int", "64": "long long"}
_STDINT = "".join(
    f"typedef signed {kind} int{bits}_t; typedef unsigned {kind} uint{bits}_t;\n"
    for bits, kind in _FIXED.items()
)
_FLOAT = "#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n"
_MATH = "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n"
_HEADERS = {"stdint.h": _STDINT, "cstdint": _STDINT, "float.h": _FLOAT, "cfloat": _FLOAT}
_HEADERS |= {"math.h": _MATH, "cmath": _MATH}


class CudaCompileError(RuntimeError):
    """The source does not compile; `log` is what the compiler said."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(f"{message}\n{log}" if log else message)
        self.log = log


class CudaLaunchError(RuntimeError):
    """A kernel could not be loaded or launched, or was given arguments that do not fit."""


def compile_cuda(source: str, options: tuple[str, ...] = (), arch: str | None = None) -> Kernels:
    """Compile `source` and return its kernels; equal calls compile once.

    `options` are NVRTC's, such as "-use_fast_math" or "-DTILE=64". `arch` ("sm_90a", "9.0") is
    by default $ROOFTREE_CUDA_ARCH, else the current GPU's, else $TORCH_CUDA_ARCH_LIST: where it is
    given, no GPU is needed before the first launch. Cubins are kept in the folder
    $ROOFTREE_CUBIN_CACHE, where that is set and can be written. Raises CudaCompileError.
    """
    return Kernels(source, tuple(options), _architecture(arch))


def tensor_map(
    tensor: Any, box: tuple[int, ...], swizzle: int = 0, shape: tuple[int, ...] | None = None
) -> Any:
    """An argument of 128 bytes by which a kernel's bulk copies know `tensor` (TMA, from 9.0 on).

    For a parameter ``const __grid_constant__ TensorMap``, a struct of so many bytes, aligned to 64.
    `box` is the tile that one copy brings, outermost axis first as in the tensor, of which `shape`
    is another view; `swizzle` is 0, 32, 64 or 128 bytes. What lies outside reads as zero. Holds for
    the address that the tensor has now. Raises CudaLaunchError where the driver refuses it.
    """
    viewed = tensor if shape is None else tensor.view(shape)
    kind, rank = str(viewed.dtype).removeprefix("torch."), viewed.dim()
    what = f"tensor map of {kind} {tuple(viewed.shape)}, box {tuple(box)}, swizzle {swizzle}"
    if len(box) != rank or kind not in _TENSOR_TYPES or swizzle not in _SWIZZLES:
        raise CudaLaunchError(f"{what}: box and shape have one length, swizzle is 0, 32, 64 or 128")
    if not rank or viewed.stride(-1) != 1:
        raise CudaLaunchError(f"{what}: values must lie side by side along the last axis")
    room = (ctypes.c_ubyte * 192)()
    encoded = (ctypes.c_ubyte * 128).from_buffer(room, -ctypes.addressof(room) % 64)
    strides = [step * viewed.element_size() for step in viewed.stride()[-2::-1]]
    extents = (ctypes.c_uint64 * rank)(*[*viewed.shape][::-1])
    steps = (ctypes.c_uint64 * rank)(*strides)
    tile = (ctypes.c_uint32 * rank)(*[*box][::-1])
    each = (ctypes.c_uint32 * rank)(*[1] * rank)
    start, swizzled = ctypes.c_void_p(viewed.data_ptr()), _SWIZZLES[swizzle]
    _call(("%s", what), "cuTensorMapEncodeTiled", encoded, _TENSOR_TYPES[kind], rank, start,
          extents, steps, tile, each, 0, swizzled, 2, 0)  # fmt: skip
    return encoded


class Kernels:
    """What one source compiled to: `kernels.name`, or `kernels["name<float, 4>"]` of a template."""

    def __init__(self, source: str, options: tuple[str, ...], arch: str) -> None:
        self._build = functools.partial(_build, source, options, arch)
        self._image = self._build("")
        self._kernels: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            is_symbol = f".text.{name}\0".encode() in self._image.cubin
            self._kernels[name] = Kernel(name, self._image if is_symbol else self._build(name))
        return self._kernels[name]

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


class Kernel:
    """One kernel: `kernel[grid, block](arguments)` or `kernel[grid, block, shared_bytes](...)`.

    Grid and block are numbers or tuples of up to three; an empty grid launches nothing. A tensor
    stands for its address, None for a null pointer. A Python number takes the size of the parameter
    that it is for, but not its type: write 2.0 where the kernel has a float. Parameters of type
    half, and structures, take ctypes values.
    """

    def __init__(self, name: str, image: _Image) -> None:
        self._name, self._image = name, image
        self._loaded: dict[int, tuple[Any, Any, list[int]]] = {}
        self._shared: dict[int, int] = {}

    def __getitem__(self, launch: tuple[Any, ...]) -> Any:
        if not isinstance(launch, tuple) or len(launch) not in (2, 3):
            raise CudaLaunchError(f"write {self._name}[grid, block] or [grid, block, shared_bytes]")
        shape = (*_extents(launch[0]), *_extents(launch[1]))
        return functools.partial(self._launch, shape, operator.index((*launch, 0)[2]))

    def _launch(self, shape: tuple[int, ...], shared: int, *arguments: Any) -> None:
        import torch

        device = torch.cuda.current_device()
        if device not in self._loaded:
            self._loaded[device] = self._image.load(self._name, device)
        context, function, sizes = self._loaded[device]
        values = pack(self._name, arguments, sizes, device)
        if 0 in shape[:3]:
            return
        at = ("%s, grid %s, block %s, %d bytes shared", self._name, shape[:3], shape[3:], shared)
        _call(at, "cuCtxSetCurrent", context)  # another thread may have launched first
        if shared > self._shared.get(device, 0):
            _call(at, "cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared)
            self._shared[device] = shared
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch._C._cuda_getCurrentRawStream(device))
        _call(at, "cuLaunchKernel", function, *shape, shared, stream, addresses, None)


def pack(name: str, arguments: tuple[Any, ...], sizes: list[int], device: int) -> list[Any]:
    """`arguments` as ctypes values of `sizes` bytes; CudaLaunchError where one does not fit."""
    if len(arguments) != len(sizes):
        raise CudaLaunchError(f"{name} takes {len(sizes)} arguments, not {len(arguments)}")
    return [
        _packed(f"argument {place} of {name}", argument, size, device)
        for place, (argument, size) in enumerate(zip(arguments, sizes, strict=True), 1)
    ]


def _packed(what: str, value: Any, size: int, device: int) -> Any:
    if hasattr(value, "data_ptr"):
        if not value.is_cuda or value.get_device() != device:
            raise CudaLaunchError(f"{what} lies on {value.device}, the launch is on cuda:{device}")
        value = ctypes.c_void_p(value.data_ptr())
    elif value is None:
        value = ctypes.c_void_p()
    elif hasattr(value, "__index__") and size in _INTEGERS:
        number = operator.index(value)
        if not -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size):
            raise CudaLaunchError(f"{what} is {number}, which does not fit in {size} bytes")
        value = _INTEGERS[size](number)
    elif hasattr(value, "__float__") and size in _FLOATS:
        value = _FLOATS[size](float(value))
    elif not isinstance(value, _C_VALUES):
        raise CudaLaunchError(f"{what} takes {size} bytes, not a {type(value).__name__}")
    if ctypes.sizeof(value) != size:
        raise CudaLaunchError(f"{what} takes {size} bytes, not {ctypes.sizeof(value)}")
    return value


def _extents(given: Any) -> tuple[int, ...]:
    extents = tuple(map(operator.index, given if isinstance(given, tuple) else (given,)))
    if not 1 <= len(extents) <= 3 or not all(0 <= extent < 2**31 for extent in extents):
        raise CudaLaunchError(f"a grid or block is one to three numbers below 2**31, not {given}")
    return (*extents, 1, 1)[:3]


class _Image:
    """A cubin, loaded on a device when first needed and kept for the life of the process."""

    def __init__(self, cubin: bytes, symbol: str) -> None:
        self.cubin, self.symbol = cubin, symbol
        self._modules: dict[int, Any] = {}

    def load(self, name: str, device: int) -> tuple[Any, Any, list[int]]:
        """Context, function and the sizes of its parameters."""
        handle, symbol = ctypes.c_int(), (self.symbol or name).encode()
        context, module, function = (ctypes.c_void_p() for _ in range(3))
        at = ("loading %s", name)
        _call(at, "cuDeviceGet", ctypes.byref(handle), device)
        _call(at, "cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        _call(at, "cuCtxSetCurrent", context)
        if device not in self._modules:
            _call(at, "cuModuleLoadData", ctypes.byref(module), self.cubin)
            self._modules[device] = module
        module = self._modules[device]
        _call(at, "cuModuleGetFunction", ctypes.byref(function), module, symbol)
        offset, size, sizes = ctypes.c_size_t(), ctypes.c_size_t(), list[int]()
        out = (ctypes.byref(offset), ctypes.byref(size))
        while not _driver().cuFuncGetParamInfo(function, ctypes.c_size_t(len(sizes)), *out):
            sizes.append(size.value)
        return context, function, sizes


@functools.cache
def _driver() -> Any:
    with contextlib.suppress(OSError):
        return ctypes.CDLL("libcuda.so.1")
    raise CudaLaunchError("no NVIDIA driver here: libcuda.so.1 was not found")


def _call(at: tuple[Any, ...], name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p(b"")
        _driver().cuGetErrorString(code, ctypes.byref(text))
        said = (text.value or b"unknown error").decode()
        raise CudaLaunchError(f"{at[0] % at[1:]}: {said} ({name} returned {code})")


@functools.cache
def _build(source: str, options: tuple[str, ...], arch: str, expression: str) -> _Image:
    """The image of `source`; with the name expression of a template, that of this instance."""
    nvrtc, major, minor = _nvrtc()
    flags = ["--std=c++17", "-default-device", "-lineinfo", f"-arch={arch}", *options]
    flags += [f"-I{folder}" for folder in _include_folders(major)]
    content = repr((source, flags, expression, major, minor, _HEADERS, "cubin first"))
    folder = os.environ.get("ROOFTREE_CUBIN_CACHE")
    kept = Path(folder or ".", hashlib.sha256(content.encode()).hexdigest() + ".cubin")
    if folder and kept.is_file():
        cubin, _, symbol = kept.read_bytes().rpartition(b"\n")
        return _Image(cubin, symbol.decode())
    symbol, cubin = _compile(nvrtc, source, flags, expression)
    if folder:
        with contextlib.suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as partial:
                # Behind the cubin, where no disassembler minds it.
                Path(partial, kept.name).write_bytes(cubin + b"\n" + symbol)
                Path(partial, kept.name).replace(kept)
    return _Image(cubin, symbol.decode())


def _compile(nvrtc: Any, source: str, flags: list[str], expression: str) -> tuple[bytes, bytes]:
    """The symbol that `expression` stands for, and the cubin."""

    def texts(lines: Any) -> Any:
        return (ctypes.c_char_p * len(lines))(*[line.encode() for line in lines])

    def fetch(what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, content)
        return content.raw

    program, symbol, name = ctypes.c_void_p(), ctypes.c_char_p(b""), expression.encode()
    headers = (len(_HEADERS), texts(_HEADERS.values()), texts(_HEADERS))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", *headers)
    if name:
        nvrtc.nvrtcAddNameExpression(program, name)
    failed = nvrtc.nvrtcCompileProgram(program, len(flags), texts(flags))
    log = fetch("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
    if not failed and name:
        failed = nvrtc.nvrtcGetLoweredName(program, name, ctypes.byref(symbol))
    result = (symbol.value or b"", b"" if failed else fetch("CUBIN"))
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        what = f"there is no kernel {expression}" if name else "the source does not compile"
        raise CudaCompileError(what, log or f"NVRTC returned {failed}")
    return result


def _architecture(given: str | None) -> str:
    given = given or os.environ.get("ROOFTREE_CUDA_ARCH")
    if not given:
        import torch

        if torch.cuda.is_available():
            given = "{}.{}".format(*torch.cuda.get_device_capability())
    found = re.findall(r"(\d+)\.?(\d)", given or os.environ.get("TORCH_CUDA_ARCH_LIST", ""))
    if not found:
        raise CudaCompileError("no GPU to compile for: set ROOFTREE_CUDA_ARCH, such as to 9.0")
    major, minor = max((int(major), int(minor)) for major, minor in found)
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"  # `a`: with all that this GPU can do


@functools.cache
def _nvrtc() -> tuple[Any, int, int]:
    """NVRTC with its release: out of `_roots`, mapped already, or where the loader finds it."""
    files = [str(file) for root in _roots() for file in root.glob("lib*/libnvrtc.so*")]
    with contextlib.suppress(OSError):
        files += re.findall(r"/\S*/libnvrtc\.so\S*", Path("/proc/self/maps").read_text())
    for file in (*files, "libnvrtc.so.13", "libnvrtc.so.12"):
        with contextlib.suppress(OSError):
            # NVRTC asks for this companion by name alone, which does once that is loaded.
            beside = Path(file).parent.glob("libnvrtc-builtins.so*") if "/" in file else ()
            for companion in beside:
                ctypes.CDLL(str(companion))
            nvrtc, major, minor = ctypes.CDLL(file), ctypes.c_int(), ctypes.c_int()
            nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            return nvrtc, major.value, minor.value
    raise CudaCompileError("the compiler was not found: pip install nvidia-cuda-nvrtc")


@functools.cache
def _include_folders(release: int) -> list[Path]:
    """Folders with CUDA's own headers of that major release."""
    stamp, found = f"#define CUDA_VERSION {release}", list[Path]()
    for folder in [root / "include" for root in _roots()]:
        header = folder / "cuda.h"
        if header.is_file() and stamp in header.read_text(errors="replace"):
            found += [folder, folder / "cccl"]
    return [folder for folder in found if folder.is_dir()]


@functools.cache
def _roots() -> list[Path]:
    """NVIDIA's wheels, those of PyTorch's own CUDA release first, and toolkits."""
    own = "13"
    with contextlib.suppress(ImportError, AttributeError):
        import torch

        own = torch.version.cuda.partition(".")[0]
    spec = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []
    names = dict.fromkeys((f"cu{own}", "cuda_nvrtc", "cuda_runtime", "cu13"))
    kits = (sys.prefix, os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))
    wheels = [place / name for name in names for place in places]
    return wheels + [Path(kit) for kit in (*kits, "/usr/local/cuda") if kit]
