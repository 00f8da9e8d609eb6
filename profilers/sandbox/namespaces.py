"""Namespaces: separate users, processes, network, mounts, message queues and host name."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profilers.sandbox import mounts, syscalls
from profilers.sandbox.report import JailReport, reason

_SEPARATE = {"network": syscalls.NEW_NET, "ipc": syscalls.NEW_IPC, "uts": syscalls.NEW_UTS}


@dataclass(frozen=True, slots=True)
class Survey:
    """What was tried in a throwaway process, because it cannot be undone.

    user, proc: why a user namespace with all rights, or a new /proc, is refused; None if allowed.
    """

    user: str | None
    proc: str | None


@functools.cache
def survey() -> Survey:
    """Try in child processes what may fail half-way. Done once; forks of this process share it."""
    user = _try_in_child(_try_user_namespace)

    def fresh_proc() -> None:
        if user is None:
            enter_user_namespace()
        syscalls.unshare(syscalls.NEW_MOUNT | syscalls.NEW_PID)
        if why := _try_in_child(mounts.mount_own_proc):
            raise OSError(errno.EPERM, why)

    return Survey(user=user, proc=_try_in_child(fresh_proc))


def separate(report: JailReport, *, gpu: bool) -> None:
    """Leave all shared namespaces except mounts; the new PID namespace begins with the next fork.

    The user namespace maps us to ourselves, so that what we own, device nodes included, stays
    usable. The GPU's driver writes below /proc under its own process number. Without a new /proc
    that number would name another process, so then the PID namespace stays shared.
    """
    found = survey()
    with report.attempt("user"):
        if found.user is not None:
            raise OSError(errno.EPERM, found.user)
        enter_user_namespace()
    for part, flag in _SEPARATE.items():
        with report.attempt(part):
            syscalls.unshare(flag)
    with report.attempt("pid"):
        if gpu and found.proc is not None:
            raise OSError(errno.EPERM, f"no /proc of its own: {found.proc}")
        syscalls.unshare(syscalls.NEW_PID)


def enter_user_namespace() -> None:
    """Enter a user namespace that maps only our own user and group, to themselves."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.NEW_USER)
    own = Path("/proc/self")
    with contextlib.suppress(FileNotFoundError):
        (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def _try_user_namespace() -> None:
    enter_user_namespace()
    syscalls.unshare(syscalls.NEW_UTS)  # some systems allow the namespace and no rights in it


def _try_in_child(action: Callable[[], None]) -> str | None:
    """Run `action` in a child process; why it failed, or None if it succeeded."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            action()
            os.write(writer, b"-")
        except OSError as error:
            os.write(writer, reason(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(pid, 0)
    return None if said == "-" else said or "the trial ended early"
