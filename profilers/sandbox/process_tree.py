"""The threads of a process and the processes that descend from it, as /proc shows them."""

from __future__ import annotations

import contextlib
from pathlib import Path

_PROC = Path("/proc")
_MOST = 10_000


def descendants(root: int) -> list[int]:
    """Process ids of all that descend from `root`, parents before their children, or of the first
    thousands of them.
    """
    found = [root]
    for pid in found:
        if len(found) > _MOST:  # a program that forks without end would be followed without end
            break
        listed = _children(pid)
        if listed is None:  # a kernel without these lists
            return _by_parent(root)
        found += listed
    return found[1:]


def threads_of(pid: int) -> list[int]:
    """Ids of the threads of a process; empty if it has ended."""
    try:
        return [int(entry.name) for entry in (_PROC / str(pid) / "task").iterdir()]
    except OSError:
        return []


def _children(pid: int) -> list[int] | None:
    """The children of one process; empty if it has ended, None if the kernel does not list them."""
    found: list[int] = []
    for thread in threads_of(pid):
        folder = _PROC / str(pid) / "task" / str(thread)
        try:
            found += map(int, (folder / "children").read_text().split())
        except OSError:
            if folder.exists() and not (folder / "children").exists():
                return None
    return found


def _by_parent(root: int) -> list[int]:
    """The same from the parent that each process names: as slow as there are processes."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]
