"""Files are written whole or not at all: what stood there before stays until all is on disk."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path


def write_whole(
    path: Path,
    content: str | bytes,
    *,
    executable: bool = False,
    private: bool = False,
    durable: bool = False,
) -> None:
    """Write a file by way of another beside it; text as UTF-8 as it stands, lone surrogates too.

    Threads and processes may write the same file at once: one of them wins. `private`: nobody else
    may read it, whatever the umask says. `durable`: it is on disk before this returns. What is no
    plain file, as ``/dev/stdout``, is written to directly. Raises OSError that names `path`, and
    then nothing of it is left behind.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path, data, executable=executable, private=private, durable=durable)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _replace(path: Path, data: bytes, *, executable: bool, private: bool, durable: bool) -> None:
    target = path.resolve()  # through a link, to what it names
    writer = f"{os.getpid()}-{threading.get_ident()}"
    partial = target.with_name(f".{target.name[:100]}.{writer}.partial")
    try:
        partial.touch(mode=0o600 if private else 0o666)
        partial.write_bytes(data)
        if executable:
            partial.chmod(partial.stat().st_mode | 0o111)
        if durable:
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
