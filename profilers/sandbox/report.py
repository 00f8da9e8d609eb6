"""What a jailed process says of the jail it is in."""

from __future__ import annotations

import os
import select

from mcts.errors import WorldError
from profilers.sandbox.held import Held


def read_report(fd: int, *, timeout_s: float) -> Held:
    """The line that a process wrote when it was in its jail; WorldError without one."""
    text = b""
    while not text.endswith(b"\n"):
        if not select.select([fd], [], [], timeout_s)[0]:
            raise WorldError(f"a process did not enter its jail within {timeout_s:.0f} s")
        part = os.read(fd, 65536)
        if not part:
            raise WorldError("a process ended before it was in its jail")
        text += part
    return Held.from_json(text.decode())
