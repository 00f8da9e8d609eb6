"""The description of a jail, which is sent to the process that enters it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Jail:
    """What code in a jail may use. The network and core dumps are always off.

    gpu: whether it may open the GPU's device nodes.
    writable: folders it may change; they must exist.
    readable: files and folders it may read beyond what Python and the CUDA libraries need.
    tmpfs_bytes: size of its own memory file system, which /tmp, /dev/shm and home share.
    processes: bound on its processes and threads together.
    file_bytes: largest file it may write.
    open_files: most descriptors a process may hold.
    data_bytes: most private memory of a process (RLIMIT_DATA); None means no bound. Address space
    is never bounded, because CUDA reserves far more than it uses.
    """

    gpu: bool = False
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    tmpfs_bytes: int = 4 * _GIB
    processes: int = 1024
    file_bytes: int = 4 * _GIB
    open_files: int = 4096
    data_bytes: int | None = None

    def to_json(self) -> str:
        paths = {name: [str(path) for path in getattr(self, name)] for name in _PATHS}
        return json.dumps(asdict(self) | paths)

    @classmethod
    def from_json(cls, text: str) -> Jail:
        """Read what `to_json` wrote; ValueError or TypeError for anything else."""
        values = json.loads(text)
        paths = {name: tuple(Path(path) for path in values[name]) for name in _PATHS}
        return cls(**(values | paths))


_PATHS = ("writable", "readable")
