"""What code in a jail sees of the file system: what it needs, and nothing that is the user's.

The same list serves the mounts, which make only this visible, and Landlock, which allows only this
to be opened, so that either one protects if the machine does not offer the other.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path

from profilers.sandbox.installed import importable_from
from profilers.sandbox.jail import Jail

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sys",
           "/nix/store", "/gnu/store", "/run/current-system", "/run/opengl-driver",
           "/run/nvidia-persistenced", "/run/nvidia-topologyd")  # fmt: skip
# Not all of /etc: it holds password hashes and the keys of services.
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "passwd",
        "group", "nsswitch.conf", "localtime", "timezone", "hosts", "host.conf", "os-release",
        "lsb-release", "debian_version", "redhat-release", "locale.conf", "locale.alias",
        "protocols", "services", "mime.types", "OpenCL", "nvidia", "vulkan", "glvnd",
        "ssl/openssl.cnf", "pki/tls/openssl.cnf", "crypto-policies")  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom")
_GPU_DEVICES = ("nvidia*", "dxg", "nvmap", "nvhost-*")
_TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_OWN_PACKAGES = ("mcts", "profilers")


@dataclass(frozen=True, slots=True)
class FileSystemView:
    """Absolute paths by what may be done with them.

    readable: read and execute. listed: only the names in these folders. writable: everything.
    private: folders replaced by empty ones in memory. devices: device nodes that may be opened.
    """

    readable: tuple[Path, ...]
    listed: tuple[Path, ...]
    writable: tuple[Path, ...]
    private: tuple[Path, ...]
    devices: tuple[Path, ...]


def view_of(jail: Jail) -> FileSystemView:
    """The view of `jail`, made from this process's interpreter, `sys.path` and environment."""
    writable = topmost(_absolute(jail.writable))
    readable = needed()
    if jail.readable:
        readable = topmost([*readable, *_absolute(jail.readable)])
    patterns = [*_DEVICES, *(_GPU_DEVICES if jail.gpu else ())]
    given = {*writable, *readable}
    private = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), *_home())
    return FileSystemView(
        readable=readable,
        listed=(_package_root(),),
        writable=writable,
        private=tuple(path for path in private if not _is_under(path, given)),
        devices=tuple(path for name in patterns for path in sorted(Path("/dev").glob(name))),
    )


@functools.cache
def needed() -> tuple[Path, ...]:
    """What Python, its packages, compilers and the CUDA libraries read. Found once per process."""
    root = _package_root()
    found = [
        *map(Path, _SYSTEM),
        *(Path("/etc", name) for name in _ETC),
        *Path("/etc").glob("python3*"),
        *map(Path, (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)),
        *(root / name for name in _OWN_PACKAGES),
        *_toolkits(),
        *_listed_in("LD_LIBRARY_PATH"),
    ]
    for entry in [Path(entry) for entry in sys.path if entry.startswith("/")]:
        # The folder that holds our packages may hold other files of the user's.
        found += importable_from(entry) if entry.resolve() == root else [entry]
    return topmost(path for path in found if exists(path) and not _is_too_much(path))


def _toolkits() -> list[Path]:
    """CUDA toolkits that variables name, and those whose compiler is on PATH."""
    named = [Path(os.environ[name]) for name in _TOOLKIT_VARIABLES if os.environ.get(name)]
    on_path = [folder.parent for folder in _listed_in("PATH") if exists(folder / "nvcc")]
    return [path for path in named + on_path if path.is_absolute()]


def _listed_in(variable: str) -> list[Path]:
    entries = os.environ.get(variable, "").split(os.pathsep)
    return [Path(entry) for entry in entries if entry.startswith("/")]


def _home() -> list[Path]:
    home = os.environ.get("HOME", "")
    return [Path(home)] if len(Path(home).parts) > 1 and exists(Path(home)) else []


def _is_too_much(path: Path) -> bool:
    """Whether `path` contains the user's home, or is the root."""
    real = Path(os.path.realpath(path))
    homes = [*_home(), Path("/")]
    return any(Path(os.path.realpath(home)).is_relative_to(real) for home in homes)


def _package_root() -> Path:
    return Path(__file__).resolve().parents[2]


def _absolute(paths: Iterable[Path]) -> list[Path]:
    return [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - links are kept


def _is_under(path: Path, folders: Set[Path]) -> bool:
    return path in folders or any(parent in folders for parent in path.parents)


def exists(path: Path) -> bool:
    """Whether `path` exists and we may look at it."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def topmost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """`paths` without those that lie below another, shortest first."""
    kept: dict[Path, None] = {}
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if not _is_under(path, kept.keys()):
            kept[path] = None
    return tuple(kept)
