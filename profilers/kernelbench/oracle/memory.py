"""The oracle's memory: its share of the device, and the buffers that it shares with workers.

Candidates' processes use the same device, so unused memory is returned where it is scarce, but not
between timed blocks: the driver clears what is given back, which slows the device down. Workers get
the constructor's arguments, the weights and inputs in one buffer; what they return in the other is
a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.reference import release_memory
from profilers.kernelbench.shared.shared_memory import SharedBuffer, buffer_kind, room_for
from profilers.kernelbench.shared.trees import tensors

_SHARE = 0.85
_IDLE_LIMIT = 2**30
_SPARE = 0.15
"""The part of the device's memory that is left to workers at least, beyond what they reserve."""
_WORKERS = 2


class DeviceMemory:
    """PyTorch's memory on `device`, an ordinal or "cpu"; on the CPU nothing is known.

    `in_turns`: one call nearly fills the device, so that each process gives back what it can.
    `call_bytes`: what a call of the model takes beside its inputs, once that was measured.
    """

    def __init__(self, device: int | str) -> None:
        self._on_host = device == "cpu"
        self.in_turns = False
        self.call_bytes = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure what the calls inside take at most."""
        import torch

        if self._on_host:
            yield
            return
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        yield
        self.call_bytes = max(0, int(torch.cuda.max_memory_allocated()) - before)

    def room(self) -> int | None:
        """Bytes that may be allocated at once; None on the CPU."""
        import torch

        if self._on_host:
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(_SHARE * (free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()))

    def reserved(self) -> int | None:
        """Bytes that are reserved, in use or not; None on the CPU."""
        import torch

        return None if self._on_host else int(torch.cuda.memory_reserved())

    def trim(self) -> None:
        """Return unused memory to the device if it is much, and others may need it.

        The candidate may take as much as the baseline, and neither has taken it at first.
        An H200 that was given back 4 GB reads its memory 14 % slower for the next 20 ms.
        """
        import torch

        if self._on_host:
            return
        free, total = torch.cuda.mem_get_info()
        if free > max(_SPARE * total, _WORKERS * self.call_bytes) and not self.in_turns:
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
        """Replace the buffers by ones of so many bytes. CudaError, WorldError: no room."""
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
        """The result of `write`, once other processes can see all that it wrote into a buffer.

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
