"""Private folders that do not outlive their process for long, even if it is killed.

Test cases may take gigabytes of shared memory, and a profiler's files stand there for most of a
search, so no folder may be left behind. Each folder is locked by its owner; making a new folder
removes those whose lock nobody holds any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "rooftree-cases-"
_LOCK = "owner.lock"


class ScratchFolder:
    """A fresh folder under `parent` (default: the system's place for temporary files)."""

    def __init__(self, parent: Path | None = None) -> None:
        base = parent or Path(tempfile.gettempdir())
        _sweep(base)
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=base))
        self._fd: int | None = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        # Only a locked folder gets the name that others sweep.
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))

    def close(self) -> None:
        """Remove the folder and all in it; idempotent."""
        if self._fd is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._fd)
            self._fd = None


def _sweep(base: Path) -> None:
    """Remove the folders under `base` whose owner is gone."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            fd = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(fd)
