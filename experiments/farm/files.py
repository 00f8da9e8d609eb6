"""Files that several machines write at once: each appears whole or not at all.

Only `rename` and `link` are relied on, which NFS, Lustre and local file systems do atomically. A
lost reply of a file server can make either look failed though it was done; both are looked at
again before they count as failed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from mcts.errors import InputError, WorldError

MAX_BYTES = 16 * 1024 * 1024
TEMPORARY = ".tmp-"
_NOT_OURS = frozenset({errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO, errno.EISDIR})
_GONE = frozenset({errno.ENOENT, errno.ESTALE, errno.ENOTDIR})


class Malformed(InputError):
    """A file in the folder is not what its place says it is."""


def read(path: Path) -> bytes | None:
    """The content of a regular file of at most `MAX_BYTES`; None where there is none.

    Never waits and follows no link, whatever stands there. Raises Malformed, WorldError where the
    file system fails.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise Malformed("it is no regular file")
            if facts.st_size > MAX_BYTES:
                raise Malformed(f"it has {facts.st_size} bytes; {MAX_BYTES} are allowed")
            return _read_all(descriptor, facts.st_size)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _GONE:
            return None
        if error.errno in _NOT_OURS:
            raise Malformed(f"it cannot be read: {error.strerror}") from None
        raise WorldError(f"cannot read {path}: {error.strerror}") from None


def _read_all(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def replace(path: Path, data: bytes, *, mode: int, durable: bool = True) -> None:
    """Write `path`, over whatever is there. WorldError when the disk refuses."""
    temporary = _write(path.parent, data, mode=mode, durable=durable)
    try:
        temporary.rename(path)
    except OSError as error:
        _remove(temporary)
        raise WorldError(f"cannot write {path}: {error.strerror}") from None


def create(path: Path, data: bytes, *, mode: int) -> bool:
    """Write `path` unless it exists; whether this call made it. WorldError when the disk refuses.

    Of several that try at once exactly one is told True.
    """
    temporary = _write(path.parent, data, mode=mode, durable=True)
    try:
        try:
            os.link(temporary, path)
        except OSError as error:
            if _links(temporary) == 2:
                return True
            if error.errno == errno.EEXIST:
                return False
            raise WorldError(f"cannot write {path}: {error.strerror}") from None
        return True
    finally:
        _remove(temporary)


def move(source: Path, target: Path) -> bool:
    """Rename; whether `target` is there now. Who must know that it was them takes a new name."""
    try:
        source.rename(target)
    except FileNotFoundError:
        return target.exists()
    except OSError as error:
        raise WorldError(f"cannot move {source}: {error.strerror}") from None
    return True


def remove(path: Path) -> None:
    """Remove a file that may be gone already. WorldError when the file system refuses."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if error.errno not in _GONE:
            raise WorldError(f"cannot remove {path}: {error.strerror}") from None


def names_in(folder: Path) -> list[str]:
    """What lies in `folder`, temporary files left out. WorldError where it cannot be listed."""
    try:
        return [path.name for path in folder.iterdir() if not path.name.startswith(TEMPORARY)]
    except OSError as error:
        raise WorldError(f"cannot list {folder}: {error.strerror}") from None


def sweep(folder: Path, *, older_than: float) -> None:
    """Remove what killed processes left half written before `older_than`, by the file's clock."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(TEMPORARY) and path.lstat().st_mtime < older_than:
                _remove(path)


def clock(folder: Path) -> float:
    """The time as the folder's file system tells it, in seconds: that of a file written now."""
    temporary = _write(folder, b"", mode=0o600, durable=False)
    try:
        return temporary.stat().st_mtime
    except OSError as error:
        raise WorldError(f"cannot use {folder}: {error.strerror}") from None
    finally:
        _remove(temporary)


def _write(folder: Path, data: bytes, *, mode: int, durable: bool) -> Path:
    path = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        _remove(path)
        raise WorldError(f"cannot write in {folder}: {error.strerror}") from None
    return path


def _links(path: Path) -> int:
    try:
        return path.stat().st_nlink
    except OSError:
        return 0


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
