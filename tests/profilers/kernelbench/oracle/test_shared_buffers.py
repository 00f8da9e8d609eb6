"""The memory that the oracle shares with workers, on the host."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.children.protocol import RequestRefused  # noqa: E402
from profilers.kernelbench.oracle.memory import SharedBuffers, shared_bytes  # noqa: E402
from profilers.kernelbench.shared.shared_memory import BufferWriter  # noqa: E402


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_buffers_that_were_not_made_are_refused(name: str) -> None:
    buffers = SharedBuffers("cpu", settle=lambda: None)
    assert buffers.bytes == 0
    with pytest.raises(RequestRefused, match="no shared memory was made") as refused:
        getattr(buffers, name)
    assert refused.value.kind == "internal"


def test_new_buffers_take_the_place_of_the_old() -> None:
    buffers = SharedBuffers("cpu", settle=lambda: None)
    buffers.make(4096, 512)
    old = buffers.inputs
    buffers.make(1024, 256)
    assert (buffers.inputs.size, buffers.outputs.size, buffers.bytes) == (1024, 256, 1280)
    assert buffers.inputs is not old


def test_a_write_is_waited_for_unless_it_does_not_fit() -> None:
    waits: list[bool] = []
    buffers = SharedBuffers("cpu", settle=lambda: waits.append(True))
    buffers.make(1024, 256)
    tensor = torch.arange(100, dtype=torch.float32)
    spec = buffers.write(lambda: BufferWriter(buffers.inputs)(tensor))
    assert torch.equal(buffers.inputs.tensor(spec), tensor)
    assert waits == [True]
    with pytest.raises(RequestRefused, match="the shared memory: a tensor ends at") as refused:
        buffers.write(lambda: BufferWriter(buffers.inputs, 1000)(tensor))
    assert refused.value.kind == "memory"
    assert waits == [True]


def test_each_tensor_takes_whole_steps_of_a_buffer() -> None:
    value = ([torch.zeros(1), torch.zeros(65)], {"scale": 2.0, "mask": torch.zeros(256)})
    assert shared_bytes(value) == 256 + 512 + 1024
