"""The oracle's share of the device's memory: what it may take, what it holds, what lies idle.

A candidate's process shares the device, so that memory that lies idle is given back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.reference import release_memory
from profilers.kernelbench.shared.shared_memory import SharedBuffer, buffer_kind, room_for
from profilers.kernelbench.shared.trees import tensors

_SHARE = 0.85
_IDLE_LIMIT = 2**30


class DeviceMemory:
    """What PyTorch has of `device`, an ordinal or "cpu"; of the host's memory nobody can tell."""

    def __init__(self, device: int | str) -> None:
        self._on_host = device == "cpu"

    def room(self) -> int | None:
        """Bytes that may be taken at once; None on the host."""
        import torch

        if self._on_host:
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(_SHARE * (free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()))

    def reserved(self) -> int | None:
        """Bytes that are taken, idle or not; None on the host."""
        import torch

        return None if self._on_host else int(torch.cuda.memory_reserved())

    def trim(self) -> None:
        """Give back what lies idle, where it is much."""
        import torch

        if self._on_host:
            return
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > _IDLE_LIMIT:
            torch.cuda.empty_cache()


class SharedBuffers:
    """Both buffers, on `device`, an ordinal or "cpu"; `settle` waits for what was enqueued there.

    Raises RequestRefused "internal" for a buffer before there are any.
    """

    def __init__(self, device: int | str, *, settle: Callable[[], None]) -> None:
        self._device = device
        self._settle = settle
        self._buffers: tuple[SharedBuffer, SharedBuffer] | None = None

    def make(self, inputs: int, outputs: int) -> None:
        """Slabs of so many bytes, in place of those there were. CudaError, WorldError: no room."""
        for buffer in self._buffers or ():
            buffer.close()
        self._buffers = None
        kind = buffer_kind(self._device)
        ordinal = 0 if self._device == "cpu" else int(self._device)
        release_memory()
        first = SharedBuffer.create(kind, inputs, ordinal)
        try:
            second = SharedBuffer.create(kind, outputs, ordinal)
        except BaseException:
            first.close()
            raise
        self._buffers = (first, second)

    @property
    def inputs(self) -> SharedBuffer:
        return self._made[0]

    @property
    def outputs(self) -> SharedBuffer:
        return self._made[1]

    @property
    def bytes(self) -> int:
        return sum(buffer.size for buffer in self._buffers or ())

    def write(self, write: Callable[[], Any]) -> Any:
        """What `write` returns, once all it has put into a buffer is there for other processes.

        RequestRefused "memory" if that does not fit.
        """
        try:
            written = write()
        except ValueError as error:
            raise RequestRefused("memory", f"the shared memory: {error}") from None
        self._settle()
        return written

    @property
    def _made(self) -> tuple[SharedBuffer, SharedBuffer]:
        if self._buffers is None:
            raise RequestRefused("internal", "no shared memory was made")
        return self._buffers


def shared_bytes(value: Any) -> int:
    """Bytes that the tensors in `value` take in a buffer."""
    return sum(room_for(tensor) for _, tensor in tensors(value))
