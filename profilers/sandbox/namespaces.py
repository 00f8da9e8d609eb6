"""Namespaces: users, processes, network, mounts, message queues and host name of one's own."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profilers.sandbox import kernel, mounts
from profilers.sandbox.held import Held, reason

_SEPARATE = {"network": kernel.NEW_NET, "ipc": kernel.NEW_IPC, "uts": kernel.NEW_UTS}


@dataclass(frozen=True, slots=True)
class Survey:
    """What a trial in a throwaway process found out: these cannot be undone once tried.

    user, proc: the reason why a user namespace with all rights, or a /proc of one's own, cannot be
    had; None where it can.
    """

    user: str | None
    proc: str | None


@functools.cache
def survey() -> Survey:
    """Try what may end half-way in children. Found once a process; its forks know it too."""
    user = _trial(_user_with_rights)

    def fresh_proc() -> None:
        if user is None:
            own_user()
        kernel.unshare(kernel.NEW_MOUNT | kernel.NEW_PID)
        if why := _trial(mounts.private_proc):
            raise OSError(errno.EPERM, why)

    return Survey(user=user, proc=_trial(fresh_proc))


def separate(held: Held, *, gpu: bool) -> None:
    """Leave the common namespaces but for mounts; the PID namespace begins with a fork.

    The user namespace maps us to ourselves, so that what we own, device nodes too, stays usable.
    A GPU's driver writes below /proc under its own process number, which without a /proc of its
    own names another process: then processes share the PID namespace.
    """
    found = survey()
    with held.attempt("user"):
        if found.user is not None:
            raise OSError(errno.EPERM, found.user)
        own_user()
    for part, flag in _SEPARATE.items():
        with held.attempt(part):
            kernel.unshare(flag)
    with held.attempt("pid"):
        if gpu and found.proc is not None:
            raise OSError(errno.EPERM, f"no /proc of its own: {found.proc}")
        kernel.unshare(kernel.NEW_PID)


def own_user() -> None:
    """Enter a user namespace that knows only our own user and group, as themselves."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEW_USER)
    own = Path("/proc/self")
    with contextlib.suppress(FileNotFoundError):
        (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def _user_with_rights() -> None:
    own_user()
    kernel.unshare(kernel.NEW_UTS)  # some systems allow the namespace and no rights in it


def _trial(action: Callable[[], None]) -> str | None:
    """Run `action` in a child; why it failed, None where it did not."""
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
