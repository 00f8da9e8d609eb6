"""Files are written whole or not at all: what stood there before stays until all is on disk. And
the lock of a folder that one process writes to.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcts.errors import InputError


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


@contextmanager
def held(lock: Path, *, message: str) -> Iterator[None]:
    """Hold a lock file, made where there is none, against other processes.

    InputError with the message if another one has it.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise InputError(message) from None
        yield
    finally:
        os.close(descriptor)


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
        if durable:
            _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where it may be opened and its file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES):
            raise
    finally:
        os.close(descriptor)
