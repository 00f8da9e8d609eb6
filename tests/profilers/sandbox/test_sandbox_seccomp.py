"""The filter, run by an interpreter of its own: also for a machine other than this one."""

from __future__ import annotations

import struct

import pytest

from profilers.sandbox import seccomp, syscalls

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# read, clone, socket, socketpair, ptrace, mount, bpf, sched_setaffinity, as <asm/unistd.h> numbers
# them
NUMBERS = {
    "x86_64": (0, 56, 41, 53, 101, 165, 321, 203),
    "aarch64": (63, 220, 198, 199, 117, 40, 280, 122),
}


def answer(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the filter says to a system call (the operations of bpf(4) that it uses)."""
    words = [number, architecture, 0, 0]
    for argument in (*arguments, 0, 0):
        words += [argument & 0xFFFFFFFF, argument >> 32]
    at, loaded = 0, 0
    steps = list(struct.iter_unpack("<HBBI", code))
    while True:
        operation, then, otherwise, value = steps[at]
        at += 1
        if operation == 0x06:
            return int(value)
        if operation == 0x20:
            loaded = words[value // 4]
        elif operation == 0x54:
            loaded &= value
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
            at += then if holds[operation] else otherwise


@pytest.mark.parametrize("connect", [True, False])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_the_filter_allows(machine: str, connect: bool) -> None:
    code = seccomp.program(machine, connect=connect)
    here = ARCHITECTURE[machine]
    read, clone, socket, pair, *denied = NUMBERS[machine]
    unix, internet, stream, datagram = 1, 2, 1, 2
    assert answer(code, here, read) == ALLOW
    assert [answer(code, here, number) for number in denied] == [EPERM] * len(denied)
    assert answer(code, here, clone, 0x01200011) == ALLOW
    assert answer(code, here, clone, syscalls.NEW_USER | 17) == EPERM
    assert answer(code, here, 435) == ENOSYS
    assert answer(code, here, socket, internet, stream) == EPERM
    assert answer(code, here, socket, 16, stream) == EPERM
    assert answer(code, here, socket, unix, stream) == (ALLOW if connect else EPERM)
    assert answer(code, here, pair, unix, stream | 0x80000) == ALLOW
    assert answer(code, here, pair, unix, datagram | 0x80000) == (ALLOW if connect else EPERM)


def test_foreign_calls_do_not_pass() -> None:
    code = seccomp.program("x86_64", connect=True)
    assert answer(code, 0x40000003, 4) == KILL  # 32 bits, where 4 is another call
    assert answer(code, ARCHITECTURE["x86_64"], 0x40000000 + 101) == ENOSYS
