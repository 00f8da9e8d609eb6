"""The few CUDA driver calls that the judge needs, with error checks, through ctypes.

The driver's C interface is stable over releases and present on every machine with a GPU, so that a
worker starts without importing a binding. Only child processes and `device` use this module.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from functools import lru_cache

from mcts.errors import WorldError

_DEVICE_POINTER = ctypes.c_uint64
_SIGNATURES: dict[str, tuple[object, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetUuid_v2": (c_void_p, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuCtxResetPersistingL2Cache": (),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamSynchronize": (c_void_p,),
    "cuMemAlloc_v2": (POINTER(_DEVICE_POINTER), c_size_t),
    "cuMemFree_v2": (_DEVICE_POINTER,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemcpyHtoDAsync_v2": (_DEVICE_POINTER, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, _DEVICE_POINTER, c_size_t, c_void_p),
    "cuMemsetD8Async": (_DEVICE_POINTER, c_ubyte, c_size_t, c_void_p),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncGetParamInfo": (c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_size_t)),
    "cuLaunchKernel": (c_void_p, *([c_uint] * 7), c_void_p, c_void_p, c_void_p),
    "cuTensorMapEncodeTiled": (
        *(c_void_p, c_int, c_uint, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
        *(c_int, c_int, c_int, c_int),
    ),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuProfilerStart": (),
    "cuProfilerStop": (),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}
_NOT_FOUND = 500
# After these the context still works; any other error is assumed to corrupt it.
_HARMLESS = frozenset({1, 2, 200, 209, 215, 218, 222, 300, 400, _NOT_FOUND, 701, 703, 801, 912})
OUT_OF_MEMORY = 2
_INVALID_VALUE, _UNSUPPORTED_LIMIT, _NOT_SUPPORTED = 1, 215, 801

PRINTF_FIFO_BYTES, PERSISTING_L2_BYTES = 1, 6
"""Limits of a context."""

MULTIPROCESSORS, L2_BYTES = 16, 38
MAJOR, MINOR, MAX_SHARED_OPTIN = 75, 76, 97
_FUNC_SHARED, _FUNC_LOCAL, _FUNC_REGISTERS, _FUNC_MAX_DYNAMIC = 1, 3, 4, 8


class CudaError(WorldError):
    """A driver call failed. `sticky` errors leave the context unusable."""

    def __init__(self, name: str, code: int, text: str, call: str) -> None:
        super().__init__(f"{name}: {text} (in {call})")
        self.name = name
        self.code = code
        self.sticky = code not in _HARMLESS


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise WorldError("no NVIDIA driver here: libcuda.so.1 was not found") from None
    for name, arguments in _SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            continue  # an older driver; `call` says so if it is ever needed
        function.argtypes = arguments
        function.restype = c_int
    return library


def call(name: str, *arguments: object) -> None:
    """Call a driver function; CudaError unless it returns success."""
    try:
        function = getattr(_library(), name)
    except AttributeError:
        raise WorldError(f"the NVIDIA driver is too old: it has no {name}") from None
    code = function(*arguments)
    if code:
        raise _error(code, name)


def _error(code: int, where: str) -> CudaError:
    texts = []
    for function in ("cuGetErrorName", "cuGetErrorString"):
        text = c_char_p()
        getattr(_library(), function)(code, byref(text))
        texts.append(text.value.decode() if text.value else f"error {code}")
    return CudaError(texts[0], code, texts[1], where)


def initialise() -> int:
    """Initialise the driver and return the number of visible devices."""
    call("cuInit", 0)
    count = c_int()
    call("cuDeviceGetCount", byref(count))
    return count.value


def driver_version() -> str:
    """The CUDA release that the driver supports, such as "13.0"."""
    version = c_int()
    call("cuDriverGetVersion", byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


class DeviceQuery:
    """Facts about one device that need no context on it."""

    def __init__(self, ordinal: int) -> None:
        handle = c_int()
        call("cuDeviceGet", byref(handle), ordinal)
        self.handle = handle.value

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", text, 256, self.handle)
        return text.value.decode()

    @property
    def uuid(self) -> str:
        """As NVML and nvidia-smi write it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx."""
        raw = (c_ubyte * 16)()
        call("cuDeviceGetUuid_v2", raw, self.handle)
        text = bytes(raw).hex()
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    @property
    def memory_bytes(self) -> int:
        size = c_size_t()
        call("cuDeviceTotalMem_v2", byref(size), self.handle)
        return size.value

    def attribute(self, attribute: int) -> int:
        value = c_int()
        call("cuDeviceGetAttribute", byref(value), attribute, self.handle)
        return value.value


class Event:
    """A CUDA event; destroyed with the object."""

    def __init__(self) -> None:
        self.handle = c_void_p()
        call("cuEventCreate", byref(self.handle), 0)
        # Not at exit: the context may be gone by then, and takes its events along.
        weakref.finalize(self, _library().cuEventDestroy_v2, self.handle).atexit = False

    def us_since(self, earlier: Event) -> float:
        """Microseconds between two events that have both been reached."""
        milliseconds = c_float()
        call("cuEventElapsedTime", byref(milliseconds), earlier.handle, self.handle)
        return milliseconds.value * 1e3


class Function:
    """A kernel of a loaded module."""

    def __init__(self, module: c_void_p, name: str) -> None:
        self.name = name
        self.handle = c_void_p()
        call("cuModuleGetFunction", byref(self.handle), module, name.encode())
        self._allowed_shared = 0

    def _attribute(self, attribute: int) -> int:
        value = c_int()
        call("cuFuncGetAttribute", byref(value), attribute, self.handle)
        return value.value

    @property
    def registers(self) -> int:
        return self._attribute(_FUNC_REGISTERS)

    @property
    def shared_bytes(self) -> int:
        """Static shared memory per block."""
        return self._attribute(_FUNC_SHARED)

    @property
    def local_bytes(self) -> int:
        """Local memory per thread: stack and spilled registers."""
        return self._attribute(_FUNC_LOCAL)

    def allow_dynamic_shared(self, size: int) -> None:
        """Let launches use up to `size` bytes; never lowers what an earlier call allowed."""
        if size <= self._allowed_shared:
            return
        call("cuFuncSetAttribute", self.handle, _FUNC_MAX_DYNAMIC, size)
        self._allowed_shared = size

    def parameter_sizes(self) -> list[int] | None:
        """Size of each parameter in bytes; None if the driver is too old to report it."""
        sizes: list[int] = []
        offset, size = c_size_t(), c_size_t()
        if not hasattr(_library(), "cuFuncGetParamInfo"):
            return None
        while len(sizes) < 4096:
            code = _library().cuFuncGetParamInfo(
                self.handle, len(sizes), byref(offset), byref(size)
            )
            if code:  # past the last parameter
                break
            sizes.append(size.value)
        return sizes


class Module:
    """A cubin loaded into the current context."""

    def __init__(self, cubin: bytes) -> None:
        self._handle = c_void_p()
        call("cuModuleLoadData", byref(self._handle), cubin)

    def function(self, name: str) -> Function | None:
        """The kernel of that name, or None if the module has none."""
        try:
            return Function(self._handle, name)
        except CudaError as error:
            if error.code == _NOT_FOUND:
                return None
            raise

    def unload(self) -> None:
        call("cuModuleUnload", self._handle)


class PreparedLaunch:
    """A launch with prepared arguments, so that enqueueing it is cheap."""

    def __init__(
        self,
        function: Function,
        *,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int = 0,
        arguments: Sequence[object],
    ) -> None:
        self.function = function
        self._values = tuple(arguments)
        addresses = [ctypes.addressof(value) for value in self._values]  # type: ignore[arg-type]
        self._array = (c_void_p * max(1, len(addresses)))(*addresses)
        self._shape = (*grid, *block, shared)
        self._launch = _library().cuLaunchKernel

    def enqueue(self, stream: c_void_p) -> None:
        """Enqueue the launch; CudaError if the driver refuses it."""
        code = self._launch(self.function.handle, *self._shape, stream, self._array, None)
        if code:
            raise _error(code, f"the launch of {self.function.name}")


class Context:
    """The primary context of a device, with one stream on which everything runs in order."""

    def __init__(self, ordinal: int) -> None:
        count = initialise()
        if ordinal >= count:
            raise WorldError(f"no GPU {ordinal}: {count} visible")
        self.device = DeviceQuery(ordinal)
        context = c_void_p()
        call("cuDevicePrimaryCtxRetain", byref(context), self.device.handle)
        call("cuCtxSetCurrent", context)
        self.stream = c_void_p()
        call("cuStreamCreate", byref(self.stream), 0)
        self.multiprocessors = self.device.attribute(MULTIPROCESSORS)

    def alloc(self, size: int) -> int:
        """Address of `size` fresh bytes of device memory."""
        pointer = _DEVICE_POINTER()
        call("cuMemAlloc_v2", byref(pointer), max(size, 16))
        return pointer.value

    def free(self, pointer: int) -> None:
        call("cuMemFree_v2", pointer)

    def free_bytes(self) -> int:
        """Bytes of device memory that no process uses."""
        free, total = c_size_t(), c_size_t()
        call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def limit(self, which: int, value: int) -> None:
        """Set a limit of the context, if the device has it."""
        _call_if_supported("cuCtxSetLimit", which, value)

    def reset_persisting(self) -> None:
        """Reset persisting L2 lines to normal ones, if the device has such."""
        _call_if_supported("cuCtxResetPersistingL2Cache")

    def upload(self, pointer: int, address: int, size: int) -> None:
        """Copy `size` bytes from host `address`; returns when the copy is done."""
        call("cuMemcpyHtoDAsync_v2", pointer, address, size, self.stream)
        self.synchronize()

    def download(self, pointer: int, size: int) -> bytes:
        host = ctypes.create_string_buffer(size)
        call("cuMemcpyDtoHAsync_v2", host, pointer, size, self.stream)
        self.synchronize()
        return host.raw

    def fill_bytes(self, pointer: int, value: int, size: int) -> None:
        """Enqueue setting `size` bytes to `value`."""
        call("cuMemsetD8Async", pointer, value, size, self.stream)

    def synchronize(self) -> None:
        """Wait for the stream; raises the device's errors."""
        call("cuStreamSynchronize", self.stream)

    def event(self) -> Event:
        return Event()

    def record(self, event: Event) -> None:
        call("cuEventRecord", event.handle, self.stream)


def _call_if_supported(name: str, *arguments: object) -> None:
    try:
        call(name, *arguments)
    except CudaError as error:
        if error.code not in (_INVALID_VALUE, _UNSUPPORTED_LIMIT, _NOT_SUPPORTED):
            raise


def profiler_start() -> None:
    """Begin the range that an attached profiler collects."""
    call("cuProfilerStart")


def profiler_stop() -> None:
    call("cuProfilerStop")
