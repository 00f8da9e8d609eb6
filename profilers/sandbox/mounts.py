"""A new root: a small file system in memory that holds the view of a jail and nothing else.

What may be read is bind-mounted read-only, what may be written is mounted writable, and /tmp,
/dev/shm and home are empty folders in memory. Sockets of the machine's services, other users' files
and the judge's own folders do not exist there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from profilers.sandbox import limits, syscalls
from profilers.sandbox.view import FileSystemView, needed, topmost

_STAGE_FOLDERS = ("/tmp", "/mnt", "/var/tmp", "/media")
_MOST_FILES = 2**18
_MOST_LINKS = 40
_STICKY = 0o1777
_DESCRIPTOR_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_SAFE = syscalls.NO_SUID | syscalls.NO_DEVICES


def prepare() -> None:
    """Compute once what is the same for every jail of this process and its forks."""
    _needed_links()
    _needed_real()


@dataclass(frozen=True, slots=True)
class _BindSource:
    """A path to bind-mount, held open because the new root may be mounted over it."""

    path: Path
    fd: int
    writable: bool
    device: bool

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(os.fstat(self.fd).st_mode)


def mount_own_proc() -> None:
    """Mount a /proc of this PID namespace over the old one."""
    syscalls.mount(None, "/", None, syscalls.RECURSIVE | syscalls.PRIVATE)
    syscalls.mount("proc", "/proc", "proc", _SAFE)


def enter_view(view: FileSystemView, *, size: int, processes: int | None) -> None:
    """Make `view` all that this process sees; it needs a mount namespace of its own.

    `size` is the capacity of the file system in memory, in bytes. `processes` bounds the processes
    of this PID namespace, which then gets its own /proc; None keeps the old /proc. If a step is
    refused, everything is put back and OSError is raised.
    """
    syscalls.mount(None, "/", None, syscalls.RECURSIVE | syscalls.PRIVATE)
    here = Path.cwd()
    links = dict(_links_in(view))
    with contextlib.ExitStack() as open_files:
        sources = list(_sources(view, open_files))
        stage = Path(next(name for name in _STAGE_FOLDERS if Path(name).is_dir()))
        options = f"size={size},nr_inodes={_MOST_FILES},mode=755"
        syscalls.mount("jail", stage, "tmpfs", _SAFE, options)
        try:
            _populate(stage, view, sources, links, processes=processes)
            os.chdir(stage)
            syscalls.pivot_here()
        except OSError:
            os.chdir("/")
            syscalls.detach(stage)
            _go_to(here)
            raise
    _go_to(here)


def _go_to(folder: Path) -> None:
    for place in (folder, Path("/tmp"), Path("/")):
        with contextlib.suppress(OSError):
            os.chdir(place)
            return


def _populate(
    root: Path,
    view: FileSystemView,
    sources: list[_BindSource],
    links: dict[Path, str],
    *,
    processes: int | None,
) -> None:
    for folder in view.private:
        real = _inside(root, Path(os.path.realpath(folder)))
        real.mkdir(parents=True, exist_ok=True)
        real.chmod(_STICKY)
        syscalls.mount(str(real), real, None, syscalls.BIND)
    for source in sources:
        _bind(root, source)
    _proc(root / "proc", processes)
    for name, target in _DESCRIPTOR_LINKS.items():
        links.setdefault(Path("/dev", name), f"/proc/self/fd{target}")
    for link, where in links.items():
        place = _inside(root, link)
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(where)
    flags = syscalls.REMOUNT | syscalls.BIND | syscalls.READ_ONLY | _SAFE
    syscalls.mount(None, root, None, flags)


def _sources(view: FileSystemView, open_files: contextlib.ExitStack) -> Iterator[_BindSource]:
    """What is bind-mounted, parents before what they contain."""
    wanted = [(path, False, False) for path in _real(view.readable)]
    wanted += [(path, True, False) for path in _real(view.writable)]
    wanted += [(path, True, True) for path in _real(view.devices)]
    for path, writable, device in sorted(wanted, key=lambda item: len(item[0].parts)):
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # does not exist
            continue
        open_files.callback(os.close, fd)
        yield _BindSource(path, fd, writable, device)


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    known = dict(zip(needed(), _needed_real(), strict=True))
    return topmost(known.get(path) or Path(os.path.realpath(path)) for path in paths)


@functools.cache
def _needed_real() -> tuple[Path, ...]:
    return tuple(Path(os.path.realpath(path)) for path in needed())


def _bind(root: Path, source: _BindSource) -> None:
    place = _inside(root, source.path)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if source.is_folder else place.touch()
    syscalls.mount(f"/proc/self/fd/{source.fd}", place, None, syscalls.BIND | syscalls.RECURSIVE)
    if not source.device:
        syscalls.restrict_mount(place, _SAFE | (0 if source.writable else syscalls.READ_ONLY))


def _proc(place: Path, processes: int | None) -> None:
    """Mount /proc with everything read-only except the entries of processes.

    Root without capabilities could otherwise still write much of it, such as /proc/sys.
    """
    place.mkdir()
    if processes is not None:
        syscalls.mount("proc", place, "proc", _SAFE)
        limits.bound_namespace(place, processes)
    else:
        syscalls.mount("/proc", place, None, syscalls.BIND | syscalls.RECURSIVE)
    for entry in place.iterdir():
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat().st_mode
        if stat.S_ISDIR(mode) or mode & 0o222:
            syscalls.mount(str(entry), entry, None, syscalls.BIND | syscalls.RECURSIVE)
            syscalls.restrict_mount(entry, syscalls.READ_ONLY)


@functools.cache
def _needed_links() -> tuple[tuple[Path, str], ...]:
    """Symbolic links in the root, such as /lib, and on the paths that every jail needs."""
    starts = (*Path("/").iterdir(), *needed())
    return tuple(link for path in starts for link in _links_to(path))


def _links_in(view: FileSystemView) -> Iterator[tuple[Path, str]]:
    yield from _needed_links()
    for path in {*view.readable, *view.writable, *view.private, *view.devices} - {*needed()}:
        yield from _links_to(path)


def _links_to(path: Path) -> Iterator[tuple[Path, str]]:
    at, rest, followed = Path("/"), list(path.parts[1:]), 0
    while rest and followed < _MOST_LINKS:
        part = rest.pop(0)
        if part == "..":
            at = at.parent
        elif (target := _target(at / part)) is not None:
            yield at / part, str(target)
            followed += 1
            if target.is_absolute():
                at = Path("/")
            rest = [item for item in target.parts if item != "/"] + rest
        else:
            at = at / part


def _target(path: Path) -> Path | None:
    """Where a symbolic link leads; None if `path` is no link, or hidden from us."""
    try:
        return path.readlink()
    except OSError:
        return None


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
