"""Landlock: which files a process and all it starts may open; it cannot be undone.

It also forbids TCP (ABI 4), device controls (5), and signals and abstract sockets to processes
outside (6). See the kernel's Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from profilers.sandbox import syscalls

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
    """Version of the interface; OSError if the kernel has no Landlock."""
    return syscalls.syscall(_CREATE, None, 0, _VERSION)


def restrict(rules: Iterable[Rule]) -> None:
    """Allow what `rules` list below each path, and nothing else. Needs no_new_privs.

    A path that does not exist is skipped. Raises OSError if the kernel has no Landlock.
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
    ruleset = syscalls.syscall(_CREATE, attributes, len(attributes), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & handled)
        syscalls.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def enter_separate_domain() -> None:
    """Put this process and all it will start into a Landlock domain nested in the current one.

    They keep access to every file, but can no longer trace the processes outside the new domain.
    Needs no_new_privs. Raises OSError if the kernel has no Landlock.
    """
    ruleset = syscalls.syscall(_CREATE, struct.pack("<Q", _MAKE_BLOCK), 8, 0)
    try:
        syscalls.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # does not exist
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112 - a descriptor, no path
            access &= _FOR_FILES
        beneath = struct.pack("<Qi", access, fd)
        syscalls.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, beneath, 0)
    finally:
        os.close(fd)
