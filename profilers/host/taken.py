"""Files out of a folder that others could write to: whatever lies there, the judge is not held up.

A jailed process may leave a link to another file, a pipe without an end, or terabytes.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def take_file(path: Path, *, most_bytes: int) -> bytes:
    """Content of the regular file at `path`; OSError, with the reason, for anything else there."""
    # Nonblocking: opening a pipe would wait for its other end.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path.name} is no regular file")
        if found.st_size > most_bytes:
            raise OSError(f"{path.name} has {found.st_size} bytes, more than {most_bytes}")
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(most_bytes + 1)
    finally:
        os.close(fd)
    if len(content) > most_bytes:
        raise OSError(f"{path.name} has more than {most_bytes} bytes")
    return content
