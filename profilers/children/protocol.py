"""Length-prefixed JSON frames between the judge and its child processes.

A frame is a 4-byte little-endian length and that many bytes of UTF-8 JSON holding one object.
The channel has its own pipes: whatever a child prints can never be taken for an answer.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Mapping
from typing import Any

MAX_FRAME_BYTES = 16 * 2**20
_PREFIX = struct.Struct("<I")


class FrameError(Exception):
    """The other side sent no valid frame: cut off, over the cap, or not a JSON object."""


class DeadlineError(Exception):
    """The other side did not answer, or did not read, in time."""


class RequestRefused(Exception):
    """A child answers a request with an error: raised in the child, and again in the judge.

    `kind` says what went wrong, `sticky` that the child is of no more use afterwards.
    """

    def __init__(self, kind: str, message: str, *, sticky: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.sticky = sticky


def write_frame(fd: int, message: Mapping[str, Any], *, deadline: float | None = None) -> None:
    """Send `message`; `deadline` is a `time.monotonic` instant (needs a non-blocking `fd`).

    Raises FrameError for a message that is over the cap or that JSON cannot hold (NaN, for
    instance), DeadlineError, BrokenPipeError.
    """
    try:
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"a message is no JSON: {error}") from None
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {len(body)} bytes is over the cap of {MAX_FRAME_BYTES}")
    data = memoryview(_PREFIX.pack(len(body)) + body)
    while data:
        _wait(fd, select.POLLOUT, deadline)
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            continue


def read_frame(fd: int, *, deadline: float | None = None) -> dict[str, Any] | None:
    """Receive one message; None if the other side closed between two frames.

    Raises FrameError for a truncated or malformed frame, DeadlineError past `deadline`.
    """
    prefix = _read(fd, _PREFIX.size, deadline)
    if not prefix:
        return None
    if len(prefix) < _PREFIX.size:
        raise FrameError("the channel closed inside a frame's length")
    (size,) = _PREFIX.unpack(prefix)
    if size > MAX_FRAME_BYTES:
        raise FrameError(f"a frame announces {size} bytes, the cap is {MAX_FRAME_BYTES}")
    body = _read(fd, size, deadline)
    if len(body) < size:
        raise FrameError(f"the channel closed after {len(body)} of {size} bytes of a frame")
    try:
        message = json.loads(body, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise FrameError("a frame holds no JSON") from None
    if b"\\u" in body:
        try:
            json.dumps(message, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise FrameError("a frame holds text that is none: half of a surrogate pair") from None
    if not isinstance(message, dict):
        raise FrameError(f"a frame holds a JSON {type(message).__name__}, not an object")
    return message


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; ValueError if a key is repeated, because readers may take either value."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice")
    return made


def _read(fd: int, size: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        _wait(fd, select.POLLIN, deadline)
        try:
            part = os.read(fd, min(missing, 2**20))
        except BlockingIOError:
            continue
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _wait(fd: int, events: int, deadline: float | None) -> None:
    poller = select.poll()
    poller.register(fd, events)
    if deadline is None:
        poller.poll()
        return
    left = deadline - time.monotonic()
    if left <= 0 or not poller.poll(max(1, left * 1e3)):
        raise DeadlineError("no answer in time")
