"""What a piece of code and its child processes print, kept up to a cap."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

_KEPT_BYTES = 16_384


class Printed:
    """The end of what was printed, once the block is left."""

    def __init__(self) -> None:
        self.data = b""

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace").strip()


@contextlib.contextmanager
def captured_output() -> Iterator[Printed]:
    """Catch descriptors 1 and 2 of the process inside the block."""
    printed = Printed()
    reader, writer = os.pipe()
    kept = [os.dup(1), os.dup(2)]
    _flush()
    for fd in (1, 2):
        os.dup2(writer, fd)
    os.close(writer)

    def drain() -> None:
        while part := os.read(reader, 65_536):
            printed.data = (printed.data + part)[-_KEPT_BYTES:]
        os.close(reader)

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        yield printed
    finally:
        _flush()
        for fd, old in zip((1, 2), kept, strict=True):
            os.dup2(old, fd)
            os.close(old)
        thread.join(timeout=1.0)  # a process that was left running may hold the other end


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
