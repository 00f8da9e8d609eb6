"""One evaluator per GPU: an advisory file lock, held as long as the evaluator exists."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from mcts.errors import WorldError


def user_cache_dir() -> Path:
    """The folder of this user's caches: ``$XDG_CACHE_HOME/rooftree`` or ``~/.cache/rooftree``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "rooftree"


class GpuLock:
    """An exclusive lock on one GPU among the processes of this user.

    The operating system drops it when the holder dies, so that no stale lock is left.
    """

    def __init__(self, uuid: str, *, folder: Path | None = None) -> None:
        self._path = (folder or user_cache_dir() / "locks") / f"{uuid}.lock"
        self._uuid = uuid
        self._fd: int | None = None

    def acquire(
        self, *, wait_s: float = 60.0, on_wait: Callable[[str], None] | None = None
    ) -> None:
        """Take the lock, waiting up to `wait_s`; WorldError naming the holder after that."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise WorldError(f"cannot open the GPU lock {self._path}: {error.strerror}") from error
        deadline = time.monotonic() + wait_s
        said = False
        while not self._locked(fd):
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            text = f"{self._uuid} is in use by another Rooftree process (pid {holder})"
            if time.monotonic() >= deadline:
                os.close(fd)
                raise WorldError(f"{text}; waited {wait_s:.0f} s")
            if on_wait is not None and not said:
                on_wait(f"{text}; waiting up to {wait_s:.0f} s")
                said = True
            time.sleep(min(0.2, max(0.01, wait_s / 20)))
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Release the lock; idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _locked(self, fd: int) -> bool:
        """Whether the lock could be taken."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:  # a network file system without locks
            os.close(fd)
            raise WorldError(f"cannot lock {self._path}: {error.strerror}") from error
        return True
