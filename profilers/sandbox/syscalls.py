"""System calls that Python does not wrap. Each raises OSError with the kernel's reason."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import struct
from pathlib import Path

NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NEW_MOUNT, NEW_IPC, NEW_UTS, NEW_CGROUP = 0x00020000, 0x08000000, 0x04000000, 0x02000000

READ_ONLY, NO_SUID, NO_DEVICES, REMOUNT = 0x1, 0x2, 0x4, 0x20
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000

SET_DEATH_SIGNAL, SET_SUBREAPER, SET_NO_NEW_PRIVS = 1, 36, 38
READ_BOUNDING, DROP_BOUNDING, AMBIENT, AMBIENT_CLEAR = 23, 24, 47, 4

_DETACH = 2
_EMPTY_PATH, _RECURSIVE_AT = 0x1000, 0x8000
_ATTRIBUTES = struct.Struct("<QQQQ")  # struct mount_attr
_CAPABILITY_VERSION_3 = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_MOUNT_SETATTR = 442  # the same number on every architecture, as all since Linux 5.1


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Call the kernel by number; integers are passed as C longs, bytes by their address."""
    values = [
        ctypes.c_long(value) if isinstance(value, int) else ctypes.c_char_p(value)
        for value in arguments
    ]
    return _checked(int(_libc().syscall(ctypes.c_long(number), *values)))


def unshare(flags: int) -> None:
    _checked(_libc().unshare(ctypes.c_int(flags)))


def prctl(option: int, value: int = 0) -> int:
    arguments = (ctypes.c_ulong(item) for item in (value, 0, 0, 0))
    return _checked(int(_libc().prctl(ctypes.c_int(option), *arguments)))


def mount(
    source: str | None, target: str | Path, kind: str | None, flags: int, data: str | None = None
) -> None:
    def text(value: str | Path | None) -> ctypes.c_char_p:
        return ctypes.c_char_p(None if value is None else os.fsencode(value))

    options = ctypes.c_ulong(flags)
    _checked(_libc().mount(text(source), text(target), text(kind), options, text(data)))


def detach(target: str | Path) -> None:
    """Unmount lazily."""
    _checked(_libc().umount2(ctypes.c_char_p(os.fsencode(target)), ctypes.c_int(_DETACH)))


def restrict_mount(target: str | Path, flags: int) -> None:
    """Add READ_ONLY, NO_SUID, NO_DEVICES to a mount and all below it (Linux 5.12)."""
    attributes = _ATTRIBUTES.pack(flags, 0, 0, 0)
    name = os.fsencode(target)
    syscall(_MOUNT_SETATTR, -100, name, _RECURSIVE_AT, attributes, _ATTRIBUTES.size)


def pivot_here() -> None:
    """Make the current folder, which is a mount, the root, and detach the old root."""
    syscall(_number(_PIVOT_ROOT), b".", b".")
    detach(".")
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up every capability for good, including those that an exec could restore."""
    unbound: OSError | None = None
    for capability in range(64):
        try:
            if prctl(READ_BOUNDING, capability):
                prctl(DROP_BOUNDING, capability)
        except OSError as error:
            if error.errno != errno.EINVAL and os.geteuid() == 0:
                unbound = error  # root's next exec would bring them back
            break  # past the last one, or we may not: then only root has any to lose
    with contextlib.suppress(OSError):
        prctl(AMBIENT, AMBIENT_CLEAR)
    header = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)
    syscall(_number(_CAPSET), header, bytes(24))
    if unbound is not None:
        raise unbound


def _number(by_machine: dict[str, int]) -> int:
    machine = os.uname().machine
    if machine not in by_machine:
        raise OSError(errno.ENOSYS, f"unknown architecture {machine}")
    return by_machine[machine]


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
