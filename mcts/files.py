"""Results are written whole or not at all: what stood there before stays until all is on disk."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, executable: bool = False) -> None:
    """Write a file by way of another beside it; text as UTF-8 as it stands, lone surrogates too.

    What is no plain file, as ``/dev/stdout``, is written to directly. OSError names `path`, and
    then nothing of it is left behind.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        _write(path, data, executable)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _write(path: Path, data: bytes, executable: bool) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()  # through a link, to what it names
    partial = target.with_name(f".{target.name[:100]}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        if executable:
            partial.chmod(partial.stat().st_mode | 0o111)
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
