"""A root of its own: a small file system in memory that holds the view of a jail and nothing else.

What may be read is bound in read-only, what may be written as it is; /tmp, /dev/shm and home are
empty folders in memory. Sockets of the machine's services, other users' files and the judge's own
folders are then not refused, but absent.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from profilers.sandbox import kernel, limits
from profilers.sandbox.view import View, needed, topmost

_STAGES = ("/tmp", "/mnt", "/var/tmp", "/media")
_MOST_FILES = 2**18
_MOST_LINKS = 40
_STICKY = 0o1777
_DESCRIPTOR_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_QUIET = kernel.NO_SUID | kernel.NO_DEVICES


def prepare() -> None:
    """Find once what is the same for every jail of this process and its forks."""
    _needed_links()
    _needed_real()


@dataclass(frozen=True, slots=True)
class _Source:
    """Something to be bound: held open, because the stage may come to lie on top of it."""

    path: Path
    fd: int
    writable: bool
    device: bool

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(os.fstat(self.fd).st_mode)


def private_proc() -> None:
    """Mount a /proc of this PID namespace over the old one."""
    kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    kernel.mount("proc", "/proc", "proc", _QUIET)


def enter_view(view: View, *, size: int, processes: int | None) -> None:
    """Make `view` all that this process sees; it needs a mount namespace of its own.

    `size`: of the file system in memory, bytes. `processes`: bound on those of this PID namespace,
    which then gets a /proc of its own; None where the old one must do. Raises OSError, and leaves
    everything in its place, where a step is refused.
    """
    kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    here = Path.cwd()
    links = dict(_links_in(view))
    with contextlib.ExitStack() as open_files:
        sources = list(_sources(view, open_files))
        stage = Path(next(name for name in _STAGES if Path(name).is_dir()))
        options = f"size={size},nr_inodes={_MOST_FILES},mode=755"
        kernel.mount("jail", stage, "tmpfs", _QUIET, options)
        try:
            _furnish(stage, view, sources, links, processes=processes)
            os.chdir(stage)
            kernel.pivot_here()
        except OSError:
            os.chdir("/")
            kernel.detach(stage)
            _go_to(here)
            raise
    _go_to(here)


def _go_to(folder: Path) -> None:
    for place in (folder, Path("/tmp"), Path("/")):
        with contextlib.suppress(OSError):
            os.chdir(place)
            return


def _furnish(
    root: Path, view: View, sources: list[_Source], links: dict[Path, str], *, processes: int | None
) -> None:
    for folder in view.private:
        real = _inside(root, Path(os.path.realpath(folder)))
        real.mkdir(parents=True, exist_ok=True)
        real.chmod(_STICKY)
        kernel.mount(str(real), real, None, kernel.BIND)
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
    flags = kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | _QUIET
    kernel.mount(None, root, None, flags)


def _sources(view: View, open_files: contextlib.ExitStack) -> Iterator[_Source]:
    """What is to be bound, parents before what lies in them."""
    wanted = [(path, False, False) for path in _real(view.readable)]
    wanted += [(path, True, False) for path in _real(view.writable)]
    wanted += [(path, True, True) for path in _real(view.devices)]
    for path, writable, device in sorted(wanted, key=lambda item: len(item[0].parts)):
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # not here
            continue
        open_files.callback(os.close, fd)
        yield _Source(path, fd, writable, device)


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    known = dict(zip(needed(), _needed_real(), strict=True))
    return topmost(known.get(path) or Path(os.path.realpath(path)) for path in paths)


@functools.cache
def _needed_real() -> tuple[Path, ...]:
    return tuple(Path(os.path.realpath(path)) for path in needed())


def _bind(root: Path, source: _Source) -> None:
    place = _inside(root, source.path)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if source.is_folder else place.touch()
    kernel.mount(f"/proc/self/fd/{source.fd}", place, None, kernel.BIND | kernel.RECURSIVE)
    if not source.device:
        kernel.restrict_mount(place, _QUIET | (0 if source.writable else kernel.READ_ONLY))


def _proc(place: Path, processes: int | None) -> None:
    """/proc, where only what belongs to processes can be written.

    Root without capabilities could still write much of the rest, such as /proc/sys.
    """
    place.mkdir()
    if processes is not None:
        kernel.mount("proc", place, "proc", _QUIET)
        limits.bound_namespace(place, processes)
    else:
        kernel.mount("/proc", place, None, kernel.BIND | kernel.RECURSIVE)
    for entry in place.iterdir():
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat().st_mode
        if stat.S_ISDIR(mode) or mode & 0o222:
            kernel.mount(str(entry), entry, None, kernel.BIND | kernel.RECURSIVE)
            kernel.restrict_mount(entry, kernel.READ_ONLY)


@functools.cache
def _needed_links() -> tuple[tuple[Path, str], ...]:
    """Symbolic links on the way to what every jail needs, and those in the root, such as /lib."""
    starts = (*Path("/").iterdir(), *needed())
    return tuple(link for path in starts for link in _links_to(path))


def _links_in(view: View) -> Iterator[tuple[Path, str]]:
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
    """Where a symbolic link leads; None for what is none, or hidden from us."""
    try:
        return path.readlink()
    except OSError:
        return None


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
