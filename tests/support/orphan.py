"""A program that leaves a process behind, and whether that process is gone."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path

ORPHAN = """
import fcntl, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        file = open(given, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("held")
        file.flush()
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.getsize(given):
    time.sleep(0.01)
"""
"""Source; `given` is the file to lock and to write to, which must exist.

The process that stays behind has left its session and holds the lock.
"""


def soon(condition: Callable[[], bool], *, within_s: float = 10) -> bool:
    """Whether `condition` comes true in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def gone(pid: int) -> bool:
    """Whether a process has ended; an unreaped orphan counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def free_again(path: Path) -> bool:
    """Whether the process that locked `path` is gone within some seconds."""

    def free() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    with path.open() as file:
        return soon(free)
