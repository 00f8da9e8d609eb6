"""The memory that the oracle shares with workers: a slab for what they get, one for their outputs.

They get the constructor's arguments, the weights and inputs; what they return is a claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.honest import release
from profilers.kernelbench.shared.exchange import Slab, room_for, slab_kind
from profilers.kernelbench.shared.trees import tensors


class SharedSlabs:
    """Both slabs, on `device`, an ordinal or "cpu"; `settle` waits for what was enqueued there.

    Raises Refusal "internal" for a slab before there are any.
    """

    def __init__(self, device: int | str, *, settle: Callable[[], None]) -> None:
        self._device = device
        self._settle = settle
        self._slabs: tuple[Slab, Slab] | None = None

    def make(self, inputs: int, outputs: int) -> None:
        """Slabs of so many bytes, in place of those there were. CudaError, WorldError: no room."""
        for slab in self._slabs or ():
            slab.close()
        self._slabs = None
        kind = slab_kind(self._device)
        ordinal = 0 if self._device == "cpu" else int(self._device)
        release()
        first = Slab.create(kind, inputs, ordinal)
        try:
            second = Slab.create(kind, outputs, ordinal)
        except BaseException:
            first.close()
            raise
        self._slabs = (first, second)

    @property
    def inputs(self) -> Slab:
        return self._made[0]

    @property
    def outputs(self) -> Slab:
        return self._made[1]

    @property
    def bytes(self) -> int:
        return sum(slab.size for slab in self._slabs or ())

    def write(self, write: Callable[[], Any]) -> Any:
        """What `write` returns, once all it has put into a slab is there for other processes.

        Refusal "memory" where that does not fit.
        """
        try:
            written = write()
        except ValueError as error:
            raise RequestRefused("memory", f"the shared memory: {error}") from None
        self._settle()
        return written

    @property
    def _made(self) -> tuple[Slab, Slab]:
        if self._slabs is None:
            raise RequestRefused("internal", "no shared memory was made")
        return self._slabs


def slab_bytes(value: Any) -> int:
    """Bytes that the tensors in `value` take in a slab."""
    return sum(room_for(tensor) for _, tensor in tensors(value))
