"""The processes around a jailed one: a guardian outside, and a first process inside.

The guardian waits, forwards how the work ended, and kills all of it when a lifeline hangs up. It
has no access to the work's files and reads nothing that the work writes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import struct
import time
from typing import NoReturn

from profilers.sandbox import syscalls
from profilers.sandbox.process_tree import descendants

_STATUS = struct.Struct("<i")
_POLL_S = 0.02
_SWEEPS = 200


def guard(
    work: int, *, ended: int, lifelines: tuple[int, ...], alive: int, sweep: bool
) -> NoReturn:
    """Wait for process `work`, then end as it did; kill it if a lifeline hangs up.

    `ended` is a pipe on which an init process reports the wait status of the work it started;
    without a report the status of `work` counts. `alive` is held open as long as this process
    lives. `sweep`: also kill all descendants, which only this process can still find.
    """
    close_all_but({*lifelines, ended, alive})
    _restore_signals()
    status = _wait(work, lifelines)
    with contextlib.suppress(OSError):
        said = os.read(ended, _STATUS.size)
        if len(said) == _STATUS.size:
            (status,) = _STATUS.unpack(said)
    if sweep:
        _end_descendants()
    end_like(status)


def run_init(work: int, *, ended: int) -> NoReturn:
    """Be the init process of a PID namespace: reap orphans until `work` ends, then end them all."""
    close_all_but({ended})
    while True:
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(-1, 0)
            if pid != work:
                continue
            os.write(ended, _STATUS.pack(status))
        os._exit(0)


def end_like(status: int) -> NoReturn:
    """End this process with the wait status of another: its exit code, or its signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def die_with_parent(alive: int) -> None:
    """Have the kernel kill this process when its parent ends, or end now if it already has.

    `alive`: read end of a pipe whose other end only the parent holds.
    """
    syscalls.prctl(syscalls.SET_DEATH_SIGNAL, signal.SIGKILL)
    poller = select.poll()
    poller.register(alive, 0)
    if poller.poll(0):
        os._exit(1)
    os.close(alive)


def close_all_but(kept: set[int]) -> None:
    """Close every descriptor but the standard streams and `kept`."""
    low = 3
    for fd in sorted(fd for fd in kept if fd >= low):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, max(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _wait(work: int, lifelines: tuple[int, ...]) -> int:
    poller = select.poll()
    for fd in lifelines:
        poller.register(fd, 0)  # poll always reports hang-ups
    try:
        watched = os.pidfd_open(work)
    except OSError:
        watched = -1
    else:
        poller.register(watched, select.POLLIN)
    while True:
        hung_up = False
        for fd, event in poller.poll(None if watched >= 0 else 0):
            if event & select.POLLNVAL:
                poller.unregister(fd)
            elif fd != watched:
                hung_up = True
        if hung_up:
            with contextlib.suppress(ProcessLookupError):
                os.kill(work, signal.SIGKILL)
        pid, status = os.waitpid(work, 0 if hung_up else os.WNOHANG)
        if pid:
            return status
        if watched < 0:
            time.sleep(_POLL_S)


def _end_descendants() -> None:
    """Kill whatever descends from this process; orphans have come to it, the subreaper."""
    for _ in range(_SWEEPS):
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_POLL_S / 10)


def _restore_signals() -> None:
    with contextlib.suppress(ValueError):
        signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
