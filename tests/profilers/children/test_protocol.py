"""Frames cross whole or not at all, and nothing that a child sends can hang or fool the judge."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profilers.children.protocol import (
    MAX_FRAME_BYTES,
    DeadlineError,
    FrameError,
    read_frame,
    write_frame,
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    yield reader, writer
    for fd in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(fd)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text(max_size=8), json_values, max_size=4), max_size=4))
def test_messages_arrive_in_order_and_unchanged(messages: list[dict[str, object]]) -> None:
    reader, writer = os.pipe()
    try:
        for message in messages:
            write_frame(writer, message)
        os.close(writer)
        assert [read_frame(reader) for _ in messages] == messages
        assert read_frame(reader) is None
    finally:
        os.close(reader)


def test_a_frame_over_the_cap_is_refused_on_both_sides(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    with pytest.raises(FrameError, match="cap"):
        write_frame(writer, {"text": "x" * MAX_FRAME_BYTES})
    os.write(writer, struct.pack("<I", MAX_FRAME_BYTES + 1))
    with pytest.raises(FrameError, match="announces"):
        read_frame(reader, deadline=time.monotonic() + 1)


@pytest.mark.parametrize("sent", [b"\x05", struct.pack("<I", 10) + b"{}"])
def test_a_truncated_frame_is_an_error(pipe: tuple[int, int], sent: bytes) -> None:
    reader, writer = pipe
    os.write(writer, sent)
    os.close(writer)
    with pytest.raises(FrameError, match="closed"):
        read_frame(reader, deadline=time.monotonic() + 1)


@pytest.mark.parametrize(
    "body",
    [b"not json", b"[1, 2]", b"\xff\xfe", b'{"us": NaN}', b'{"us": -Infinity}',
     b'{"ok": false, "ok": true}', b'{"a": {"b": 1, "b": 2}}', b"[" * 50_000],
)  # fmt: skip
def test_garbage_is_an_error(pipe: tuple[int, int], body: bytes) -> None:
    reader, writer = pipe
    os.write(writer, struct.pack("<I", len(body)) + body)
    with pytest.raises(FrameError, match="JSON"):
        read_frame(reader, deadline=time.monotonic() + 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_values_that_json_cannot_hold_are_not_sent(pipe: tuple[int, int], value: object) -> None:
    with pytest.raises(FrameError, match="no JSON"):
        write_frame(pipe[1], {"value": value})


def test_silence_ends_at_the_deadline(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"\x10")
    with pytest.raises(DeadlineError):
        read_frame(reader, deadline=time.monotonic() + 0.1)


def test_a_reader_that_never_reads_cannot_block_the_writer(pipe: tuple[int, int]) -> None:
    _, writer = pipe
    with pytest.raises(DeadlineError):
        write_frame(writer, {"text": "x" * 2**20}, deadline=time.monotonic() + 0.1)
