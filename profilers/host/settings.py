"""How `host` candidates are compiled: include folders, and limits sized for CUTLASS."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What the compiler may use.

    includes: folders of headers beside CUDA's own, read-only in the jail.
    deadline_s: after it a compilation is killed; a CUTLASS kernel takes half a minute to two.
    memory_bytes: bound on each process of the compiler; a CUTLASS kernel takes 2 GiB.
    library_bytes: largest shared object, and largest intermediate file.
    processes: compilations at a time; None for as many as the machine's cores, and its memory
        at `memory_bytes` each, allow.
    """

    includes: tuple[Path, ...] = ()
    deadline_s: float = 240.0
    memory_bytes: int = 6 * _GIB
    library_bytes: int = 512 * 2**20
    processes: int | None = None

    @property
    def at_once(self) -> int:
        if self.processes is not None:
            return max(1, self.processes)
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return max(1, min(4, os.cpu_count() or 1, whole // self.memory_bytes))
