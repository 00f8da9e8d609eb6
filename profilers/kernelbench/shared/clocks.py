"""Clocks that are bound before a candidate's code is loaded: driver calls, or the host's counter.

Both kinds mark points in stream order, give microseconds between two marks, wait for all that was
enqueued, and reset the part of L2 that can be reserved.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import Any, Protocol

from mcts.errors import WorldError
from profilers.hardware.driver import CudaError

_LIMIT_PERSISTING_L2 = 6
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuCtxSynchronize": (),
    "cuCtxResetPersistingL2Cache": (),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuCtxGetLimit": (POINTER(c_size_t), c_int),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuMemGetAddressRange_v2": (POINTER(ctypes.c_uint64), POINTER(c_size_t), ctypes.c_uint64),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}


class Clock(Protocol):
    """What times a call. `mark` costs the host about a microsecond."""

    def mark(self) -> Any:
        """A point in the stream, behind all that is enqueued so far."""
        ...

    def us(self, begin: Any, end: Any) -> float:
        """Microseconds between two marks that have been reached, which are then reused."""
        ...

    def synchronize(self) -> None:
        """Wait for everything on the device. Raises CudaError if something failed there."""
        ...

    def reset_cache(self) -> None:
        """Drop all reservations of L2."""
        ...

    def persisting_bytes(self) -> int:
        """Bytes of L2 that are reserved for persisting lines; the limit is reset to 0."""
        ...

    def backed(self, address: int, size: int) -> bool:
        """Whether device memory is allocated at both ends of `size` bytes at `address`."""
        ...


def clock_for(device: int | str) -> Clock:
    """The clock of a device: an ordinal (torch has made its context), or "cpu"."""
    return HostClock() if device == "cpu" else DeviceClock(stream=0)


class HostClock:
    """For models on the CPU, where a call is done when it returns."""

    def __init__(self) -> None:
        self._now: Callable[[], int] = time.perf_counter_ns

    def mark(self) -> int:
        return self._now()

    def us(self, begin: int, end: int) -> float:
        return (end - begin) / 1e3

    def synchronize(self) -> None:
        return

    def reset_cache(self) -> None:
        return

    def persisting_bytes(self) -> int:
        return 0

    def backed(self, address: int, size: int) -> bool:
        return address != 0 or size == 0


class DeviceClock:
    """CUDA events on one stream through the driver, whose functions are looked up once."""

    def __init__(self, stream: int) -> None:
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise WorldError("no NVIDIA driver here: libcuda.so.1 was not found") from None
        self._functions: dict[str, Any] = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = c_int
            self._functions[name] = function
        self._record = self._functions["cuEventRecord"]
        self._stream = c_void_p(stream)
        self._free: list[c_void_p] = []
        # A device without persisting L2 refuses one of these calls; then there is nothing to reset.
        set_limit = self._functions["cuCtxSetLimit"]
        reset = self._functions["cuCtxResetPersistingL2Cache"]
        self._persists = set_limit(_LIMIT_PERSISTING_L2, 0) == 0 and reset() == 0

    def mark(self) -> c_void_p:
        if self._free:
            event = self._free.pop()
        else:
            event = c_void_p()
            self._call("cuEventCreate", byref(event), 0)
        if code := self._record(event, self._stream):
            raise self._error(code, "cuEventRecord")
        return event

    def us(self, begin: c_void_p, end: c_void_p) -> float:
        milliseconds = c_float()
        self._call("cuEventElapsedTime", byref(milliseconds), begin, end)
        self._free += [begin, end]
        return milliseconds.value * 1e3

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def reset_cache(self) -> None:
        if self._persists:
            self._call("cuCtxResetPersistingL2Cache")

    def persisting_bytes(self) -> int:
        if not self._persists:
            return 0
        size = c_size_t()
        self._call("cuCtxGetLimit", byref(size), _LIMIT_PERSISTING_L2)
        if size.value:
            self._call("cuCtxSetLimit", _LIMIT_PERSISTING_L2, 0)
        return size.value

    def backed(self, address: int, size: int) -> bool:
        # Memory that grows in place is many allocations side by side: look at both ends.
        ends = (address, address + size - 1) if size else ()
        base, extent = ctypes.c_uint64(), c_size_t()
        find = self._functions["cuMemGetAddressRange_v2"]
        return all(find(byref(base), byref(extent), end) == 0 for end in ends)

    def _call(self, name: str, *arguments: object) -> None:
        if code := self._functions[name](*arguments):
            raise self._error(code, name)

    def _error(self, code: int, where: str) -> CudaError:
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            self._functions[name](code, byref(text))
            texts.append(text.value.decode() if text.value else f"error {code}")
        return CudaError(texts[0], code, texts[1], where)
