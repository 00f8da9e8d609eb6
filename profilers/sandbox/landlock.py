"""Landlock: what of the file system a process and all it starts may open, for good.

Also keeps it from TCP (ABI 4), device controls (5), and signals and abstract sockets that lead out
(6). See the kernel's Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from profilers.sandbox import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_FIRST = (1 << 13) - 1

READ = EXECUTE | READ_FILE | READ_DIR
LIST = READ_DIR
WRITE = (READ | _FIRST | _REFER | _TRUNCATE) & ~(_MAKE_CHAR | _MAKE_BLOCK)
WRITE_OLD_FILES = READ | WRITE_FILE | _TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | _TRUNCATE | _IOCTL_DEV

_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 1 | 2
_ABSTRACT_SOCKETS_AND_SIGNALS = 1 | 2

Rule = tuple[Path, int]


def abi() -> int:
    """Version of the interface; OSError where there is none."""
    return kernel.syscall(_CREATE, None, 0, _VERSION)


def restrict(rules: Iterable[Rule]) -> None:
    """Allow what `rules` list, below each path, and nothing else. Needs no_new_privs.

    A path that does not exist allows nothing. Raises OSError where Landlock is absent.
    """
    version = abi()
    handled = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= right if version >= since else 0
    attributes = struct.pack("<Q", handled)
    if version >= 4:
        attributes += struct.pack("<Q", _TCP)
    if version >= 6:
        attributes += struct.pack("<Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = kernel.syscall(_CREATE, attributes, len(attributes), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & handled)
        kernel.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def part() -> None:
    """Put this process, and all it will start, into a domain of their own within that of others.

    No file is lost to them, but they can no longer look into the processes that stay behind. Needs
    no_new_privs. Raises OSError where Landlock is absent.
    """
    ruleset = kernel.syscall(_CREATE, struct.pack("<Q", _MAKE_BLOCK), 8, 0)
    try:
        kernel.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not here
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112 - a descriptor, no path
            access &= _FOR_FILES
        beneath = struct.pack("<Qi", access, fd)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, beneath, 0)
    finally:
        os.close(fd)
