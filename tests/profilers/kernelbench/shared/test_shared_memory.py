"""Tensors in memory that two processes share."""

from __future__ import annotations

import os
from typing import Any

import pytest

from mcts.errors import WorldError
from profilers.kernelbench.shared.shared_memory import (
    ALIGNMENT,
    BufferWriter,
    SharedBuffer,
    room_for,
    spec_of,
)
from profilers.kernelbench.shared.values import TensorSpec, decode, encode

torch: Any = pytest.importorskip("torch")
SIZE = 1 << 16


@pytest.fixture
def buffers() -> Any:
    """The same memory, mapped twice."""
    ours = SharedBuffer.create("host", SIZE)
    theirs = SharedBuffer.attach("host", os.dup(ours.fd), SIZE)
    yield ours, theirs
    theirs.close()
    ours.close()


def test_one_side_reads_what_the_other_writes(buffers: tuple[SharedBuffer, SharedBuffer]) -> None:
    ours, theirs = buffers
    value = [torch.randn(5, 7), {"mask": torch.rand(9) > 0.5, "n": torch.tensor(3)}]
    again = decode(encode(value, BufferWriter(ours)), theirs.fresh)
    assert torch.equal(again[0], value[0])
    assert torch.equal(again[1]["mask"], value[1]["mask"])
    assert again[1]["n"].item() == 3


@pytest.mark.parametrize(
    "made",
    [
        lambda: torch.randn(6, 4).t(),
        lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        lambda: torch.randn(8, 8)[:, ::2],
        lambda: torch.randn(3).to(torch.float8_e4m3fn),
        lambda: torch.randn(3, dtype=torch.complex64),
        lambda: torch.empty(0, 4),
    ],
)
def test_strides_and_dtypes_are_kept(buffers: tuple[SharedBuffer, SharedBuffer], made: Any) -> None:
    ours, theirs = buffers
    tensor = made()
    again = theirs.fresh(BufferWriter(ours)(tensor))
    assert again.dtype == tensor.dtype
    assert again.shape == tensor.shape
    if tensor.numel():
        assert again.stride() == tensor.stride()
    assert again.tolist() == tensor.tolist()


def test_an_expanded_tensor_is_written_out(buffers: tuple[SharedBuffer, SharedBuffer]) -> None:
    ours, theirs = buffers
    tensor = torch.randn(1, 4).expand(8, 4)
    again = theirs.tensor(BufferWriter(ours)(tensor))
    assert again.is_contiguous()
    assert torch.equal(again, tensor)


def test_tensors_start_at_multiples_of_the_alignment(
    buffers: tuple[SharedBuffer, SharedBuffer],
) -> None:
    writer = BufferWriter(buffers[0], at=1)
    specs = [writer(torch.randn(n)) for n in (1, 100, 3)]
    assert all(spec.offset % ALIGNMENT == 0 for spec in specs)
    assert writer.at == ALIGNMENT + sum(room_for(torch.empty(n)) for n in (1, 100, 3))


def test_nothing_outside_of_the_buffer_can_be_named(
    buffers: tuple[SharedBuffer, SharedBuffer],
) -> None:
    for spec in (
        TensorSpec("float32", (SIZE,), (1,), 0),
        TensorSpec("uint8", (1,), (1,), SIZE),
        TensorSpec("uint8", (2, 1), (SIZE, 1), 0),
    ):
        with pytest.raises(ValueError, match="ends at byte"):
            buffers[0].tensor(spec)
    with pytest.raises(ValueError, match="ends at byte"):
        BufferWriter(buffers[0])(torch.empty(SIZE))


def test_a_dtype_that_cannot_pass_is_refused() -> None:
    with pytest.raises(ValueError, match="quint8"):
        spec_of(torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.quint8))


def test_closing_twice_is_closing_once() -> None:
    buffer = SharedBuffer.create("host", 100)
    buffer.close()
    buffer.close()


def test_no_holder_of_a_buffer_can_cut_it_short(
    buffers: tuple[SharedBuffer, SharedBuffer],
) -> None:
    for size in (1, 2 * SIZE):
        with pytest.raises(PermissionError):
            os.truncate(buffers[1].fd, size)


def test_less_memory_than_was_promised_is_refused() -> None:
    buffer = SharedBuffer.create("host", 100)
    with pytest.raises(WorldError, match="less than 200"):
        SharedBuffer.attach("host", buffer.fd, 200)
    buffer.close()
