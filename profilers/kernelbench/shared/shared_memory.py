"""Memory that two processes share, and tensors in it.

A buffer on a device is an allocation whose handle is a file descriptor, so that a process in
another PID namespace can map it; a buffer on the host is a memfd. Each is mapped once as bytes.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from ctypes import POINTER, byref, c_int, c_size_t, c_ubyte, c_uint64, c_ulonglong, c_ushort
from functools import lru_cache
from typing import Any, Literal

from mcts.errors import WorldError
from profilers.hardware.driver import CudaError
from profilers.kernelbench.shared.values import TensorSpec, kept_strides

BufferKind = Literal["device", "host"]
ALIGNMENT = 256
"""Bytes; every tensor in a buffer starts at a multiple of it."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def aligned(size: int) -> int:
    """`size` in bytes, rounded up to where the next tensor may start."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def buffer_kind(device: int | str) -> BufferKind:
    """The kind of buffer that goes with a device: an ordinal, or "cpu"."""
    return "host" if device == "cpu" else "device"


class SharedBuffer:
    """Bytes shared with another process, `size` of them, over the descriptor `fd`.

    What the other process writes is treated as data only: a tensor's place is checked, its elements
    may have any bits (a bool may hold 7). Not thread-safe.
    """

    def __init__(self, fd: int, size: int, mapping: _HostMapping | _DeviceMapping) -> None:
        self.fd = fd
        self.size = size
        self._mapping: _HostMapping | _DeviceMapping | None = mapping
        self._bytes: Any = mapping.bytes()

    @classmethod
    def create(cls, kind: BufferKind, size: int, ordinal: int = 0) -> SharedBuffer:
        """A new buffer. Raises CudaError (code 2: out of memory) or WorldError."""
        if kind == "device":
            fd, mapping = _DeviceMapping.create(size, ordinal)
            return cls(fd, size, mapping)
        fd = os.memfd_create("rooftree-shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.truncate(fd, max(1, size))
            # Seal the size: truncating the file would kill the next process that reads it.
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        except OSError as error:
            os.close(fd)
            raise WorldError(f"no memory for {size} shared bytes: {error}") from error
        return cls(fd, size, _HostMapping(fd, size))

    @classmethod
    def attach(cls, kind: BufferKind, fd: int, size: int, ordinal: int = 0) -> SharedBuffer:
        """Map a buffer of `size` bytes that another process created; takes `fd` over."""
        if kind == "device":
            return cls(fd, size, _DeviceMapping.attach(fd, size, ordinal))
        return cls(fd, size, _HostMapping(fd, size))

    def tensor(self, spec: TensorSpec) -> Any:
        """A view of the buffer, not a copy. Raises ValueError if `spec` lies outside of it."""
        import torch

        end = spec.offset + spec.bytes
        if end > self.size:
            raise ValueError(f"a tensor ends at byte {end} of a buffer of {self.size}")
        flat = self._bytes[spec.offset : end].view(getattr(torch, spec.dtype))
        return flat.as_strided(spec.shape, spec.strides)

    def fresh(self, spec: TensorSpec) -> Any:
        """A new tensor on the buffer's device with the content and the strides at `spec`."""
        import torch

        source = self.tensor(spec)
        made = torch.empty_strided(
            spec.shape, spec.strides, dtype=source.dtype, device=source.device
        )
        return made.copy_(source)

    def close(self) -> None:
        """Unmap and close; tensors made over the buffer must not be used any more. Idempotent."""
        if self._mapping is None:
            return
        self._bytes = None
        self._mapping.close()
        self._mapping = None
        os.close(self.fd)


class BufferWriter:
    """Copies tensors into a buffer one after another from byte `at`: a `values.Place`.

    Enqueues on the current stream and waits for nothing.
    """

    def __init__(self, buffer: SharedBuffer, at: int = 0) -> None:
        self.buffer = buffer
        self.at = aligned(at)

    def __call__(self, tensor: Any) -> TensorSpec:
        """Raises ValueError if the buffer is full or the dtype cannot be passed on."""
        spec = spec_of(tensor, self.at)
        self.buffer.tensor(spec).copy_(tensor)
        self.at = aligned(spec.offset + spec.bytes)
        return spec


def spec_of(tensor: Any, offset: int = 0) -> TensorSpec:
    """How `tensor` will lie in a buffer at `offset`, with its own strides if they can be kept."""
    shape = tuple(int(extent) for extent in tensor.shape)
    strides = kept_strides(shape, tuple(int(stride) for stride in tensor.stride()))
    return TensorSpec(str(tensor.dtype).removeprefix("torch."), shape, strides, offset)


def room_for(tensor: Any) -> int:
    """Bytes that `tensor` takes in a buffer, padded so that the next one is aligned."""
    return aligned(spec_of(tensor).bytes)


class _HostMapping:
    def __init__(self, fd: int, size: int) -> None:
        if os.fstat(fd).st_size < size:
            raise WorldError(f"a shared memory of less than {size} bytes was handed over")
        self._size = size
        self._map = mmap.mmap(fd, max(1, size))

    def bytes(self) -> Any:
        import torch

        return torch.frombuffer(self._map, dtype=torch.uint8)[: self._size]

    def close(self) -> None:
        """The pages are freed with the last tensor over them."""
        del self._map


class _Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class _AllocationFlags(ctypes.Structure):
    _fields_ = [
        ("compression", c_ubyte),
        ("gpu_direct_rdma", c_ubyte),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 4),
    ]


class _AllocationProperties(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("handle_types", c_int),
        ("location", _Location),
        ("win32_meta_data", ctypes.c_void_p),
        ("flags", _AllocationFlags),
    ]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", c_int)]


_PINNED, _ON_DEVICE, _FILE_DESCRIPTOR, _READ_WRITE = 1, 1, 1, 3
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuMemGetAllocationGranularity": (POINTER(c_size_t), POINTER(_AllocationProperties), c_int),
    "cuMemCreate": (POINTER(c_uint64), c_size_t, POINTER(_AllocationProperties), c_ulonglong),
    "cuMemExportToShareableHandle": (POINTER(c_int), c_uint64, c_int, c_ulonglong),
    "cuMemImportFromShareableHandle": (POINTER(c_uint64), ctypes.c_void_p, c_int),
    "cuMemAddressReserve": (POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_ulonglong),
    "cuMemMap": (c_uint64, c_size_t, c_size_t, c_uint64, c_ulonglong),
    "cuMemSetAccess": (c_uint64, c_size_t, POINTER(_Access), c_size_t),
    "cuMemUnmap": (c_uint64, c_size_t),
    "cuMemAddressFree": (c_uint64, c_size_t),
    "cuMemRelease": (c_uint64,),
    "cuGetErrorName": (c_int, POINTER(ctypes.c_char_p)),
}


@lru_cache(maxsize=1)
def _driver() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise WorldError("no NVIDIA driver here: libcuda.so.1 was not found") from None
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int
    return library


def _call(name: str, *arguments: object) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(code, byref(text))
        shown = text.value.decode() if text.value else f"error {code}"
        raise CudaError(shown, code, "shared device memory", name)


class _DeviceMapping:
    """A driver allocation, mapped into this process's primary context."""

    def __init__(self, handle: c_uint64, size: int, padded: int, ordinal: int) -> None:
        self._handle, self._size, self._padded, self._ordinal = handle, size, padded, ordinal
        self._address = c_uint64()
        _call("cuMemAddressReserve", byref(self._address), padded, 0, 0, 0)
        _call("cuMemMap", self._address, padded, 0, handle, 0)
        access = _Access(_Location(_ON_DEVICE, ordinal), _READ_WRITE)
        _call("cuMemSetAccess", self._address, padded, byref(access), 1)

    @classmethod
    def create(cls, size: int, ordinal: int) -> tuple[int, _DeviceMapping]:
        properties, padded = _properties(size, ordinal)
        handle, fd = c_uint64(), c_int()
        _call("cuMemCreate", byref(handle), padded, byref(properties), 0)
        _call("cuMemExportToShareableHandle", byref(fd), handle, _FILE_DESCRIPTOR, 0)
        return fd.value, cls(handle, size, padded, ordinal)

    @classmethod
    def attach(cls, fd: int, size: int, ordinal: int) -> _DeviceMapping:
        _, padded = _properties(size, ordinal)
        handle = c_uint64()
        _call("cuMemImportFromShareableHandle", byref(handle), fd, _FILE_DESCRIPTOR)
        return cls(handle, size, padded, ordinal)

    def bytes(self) -> Any:
        import torch

        return torch.as_tensor(self, device=torch.device("cuda", self._ordinal))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self._size,),
            "typestr": "|u1",
            "data": (self._address.value, False),
            "strides": None,
            "version": 3,
        }

    def close(self) -> None:
        import torch

        torch.cuda.synchronize(self._ordinal)
        _call("cuMemUnmap", self._address, self._padded)
        _call("cuMemAddressFree", self._address, self._padded)
        _call("cuMemRelease", self._handle)


def _properties(size: int, ordinal: int) -> tuple[_AllocationProperties, int]:
    """The allocation's properties, and `size` rounded up to what the driver can map.

    Torch makes the device's primary context current first: the driver calls need it.
    """
    import torch

    torch.cuda.set_device(ordinal)
    torch.empty(1, device=torch.device("cuda", ordinal))
    properties = _AllocationProperties(
        type=_PINNED, handle_types=_FILE_DESCRIPTOR, location=_Location(_ON_DEVICE, ordinal)
    )
    granularity = c_size_t()
    _call("cuMemGetAllocationGranularity", byref(granularity), byref(properties), 0)
    step = granularity.value
    return properties, max(1, -(-size // step)) * step
