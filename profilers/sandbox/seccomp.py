"""seccomp: refuses system calls that no kernel candidate needs.

The filter is classic BPF, as seccomp(2) takes it. Calls that read or control other processes,
change mounts, namespaces, modules, clocks or keys, or that have been a way into the kernel, fail
with EPERM; calls of another architecture kill the process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from profilers.sandbox import syscalls

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24

_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_X32 = 0x40000000

_SET_FILTER, _NO_SPECULATION_BARRIER = 1, 4
_PRCTL_SET_SECCOMP, _PRCTL_FILTER = 22, 2
_NAMESPACES = (
    syscalls.NEW_USER | syscalls.NEW_PID | syscalls.NEW_NET | syscalls.NEW_MOUNT | syscalls.NEW_IPC
    | syscalls.NEW_UTS | syscalls.NEW_CGROUP
)  # fmt: skip

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_SECCOMP, _CLONE, _CLONE3 = (317, 277), (56, 220), 435
_SOCKET, _SOCKET_PAIR = (41, 198), (53, 199)
_UNIX, _DATAGRAM, _KIND_BITS = 1, 2, 0xF

_NEW_DENIED = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443, "open_tree_attr": 467,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
}  # fmt: skip
_DENIED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "perf_event_open": (298, 241), "bpf": (321, 280),
    "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "unshare": (272, 97),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "syslog": (103, 116),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "sched_setaffinity": (203, 122),  # the judge says on which core a candidate is timed
    "uselib": (134, None), "create_module": (174, None), "query_module": (178, None),
}  # fmt: skip


def install(*, connect: bool) -> None:
    """Put the filter on this process and all it starts. Needs no_new_privs.

    `connect` allows Unix sockets that reach others by name, for when the sockets of other programs
    are not visible. Pairs of sockets are always allowed.
    Raises OSError if the kernel has no seccomp or the machine is unknown.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter for the architecture {machine}")
    code = program(machine, connect=connect)
    buffer = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    column, _ = _ARCHITECTURES[machine]
    for flags in (_NO_SPECULATION_BARRIER, 0):  # without the barrier nothing gets slower
        try:
            syscalls.syscall(_SECCOMP[column], _SET_FILTER, flags, described)
            return
        except OSError as error:
            if error.errno != errno.EINVAL or not flags:
                raise


def program(machine: str, *, connect: bool) -> bytes:
    """The filter's code for `machine`."""
    column, architecture = _ARCHITECTURES[machine]
    refuse = _bpf(_RETURN, _ERROR | errno.EPERM)
    absent = _bpf(_RETURN, _ERROR | errno.ENOSYS)
    steps = [
        _bpf(_LOAD, _ARCHITECTURE_AT),
        _bpf(_EQUAL, architecture, 1, 0),
        _bpf(_RETURN, _KILL),
        _bpf(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [_bpf(_AT_LEAST, _X32, 0, 1), absent]
    numbers = [pair[column] for pair in _DENIED.values()] + [*_NEW_DENIED.values()]
    for number in numbers:
        if number is not None:
            steps += [_bpf(_EQUAL, number, 0, 1), refuse]
    # The flags of clone3 lie behind a pointer; without it the C library falls back to clone.
    steps += [_bpf(_EQUAL, _CLONE3, 0, 1), absent]
    argument = _bpf(_LOAD, _FIRST_ARGUMENT_AT)
    steps += [_bpf(_EQUAL, _CLONE[column], 0, 4), argument,
              _bpf(_ANY_BIT, _NAMESPACES, 0, 1), refuse, _bpf(_RETURN, _ALLOW)]  # fmt: skip
    steps += _sockets(column, refuse) if connect else _only_pairs(column, refuse)
    return b"".join([*steps, _bpf(_RETURN, _ALLOW)])


def _sockets(column: int, refuse: bytes) -> list[bytes]:
    """Allow only Unix sockets. Must be the end of the program: the argument replaces the number."""
    return [
        _bpf(_EQUAL, _SOCKET[column], 0, 3), _bpf(_LOAD, _FIRST_ARGUMENT_AT),
        _bpf(_EQUAL, _UNIX, 1, 0), refuse,
    ]  # fmt: skip


def _only_pairs(column: int, refuse: bytes) -> list[bytes]:
    """Allow only connected pairs; a pair of datagram sockets could still send anywhere."""
    return [
        _bpf(_EQUAL, _SOCKET[column], 0, 1), refuse,
        _bpf(_EQUAL, _SOCKET_PAIR[column], 0, 4), _bpf(_LOAD, _SECOND_ARGUMENT_AT),
        _bpf(_AND, _KIND_BITS), _bpf(_EQUAL, _DATAGRAM, 0, 1), refuse,
    ]  # fmt: skip


def _bpf(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; `then` and `otherwise` are how many instructions to skip."""
    return struct.pack("<HBBI", code, then, otherwise, value)
