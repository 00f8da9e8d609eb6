"""The messages between the processes that chunk files."""

from __future__ import annotations

import io

import pytest

from cutlass_search.index.chunking_worker import receive, send


def _sent(*values: object) -> bytes:
    stream = io.BytesIO()
    for value in values:
        send(value, stream)
    return stream.getvalue()


def test_what_was_sent_is_received_in_its_order() -> None:
    stream = io.BytesIO(_sent(["a\nb", 1], ("ü", None)))
    assert [receive(stream), receive(stream)] == [["a\nb", 1], ("ü", None)]
    with pytest.raises(EOFError):
        receive(stream)


@pytest.mark.parametrize("kept", range(1, len(_sent(["one", 2]))))
def test_a_message_that_ends_early_is_refused(kept: int) -> None:
    with pytest.raises((EOFError, ValueError, TypeError)):
        receive(io.BytesIO(_sent(["one", 2])[:kept]))


def test_a_text_that_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        receive(io.BytesIO(b"Fatal: out of memory\n"))
