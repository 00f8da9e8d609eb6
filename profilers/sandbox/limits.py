"""Resource limits, and a bound on the number of processes that also binds root."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from pathlib import Path

from profilers.sandbox.jail import Jail

_OUT_OF_MEMORY_SCORE = "800"
_PID_MAX = "sys/kernel/pid_max"
_RESERVED_PIDS = 300


def be_killed_first_without_memory() -> None:
    """Have the kernel kill this process, and not the judge, when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OUT_OF_MEMORY_SCORE)


def apply_limits(jail: Jail) -> None:
    """Set the limits that hold for each process. OSError if one cannot be lowered."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: jail.file_bytes,
        resource.RLIMIT_NOFILE: jail.open_files,
        resource.RLIMIT_DATA: jail.data_bytes,
    }
    for limit, value in wanted.items():
        if value is not None:
            _lower(limit, value)


def bound_namespace(proc: Path, count: int) -> None:
    """Bound the processes and threads of a PID namespace by its own `pid_max`, if it has one.

    `proc` is its /proc. From Linux 6.14 on that binds root too. Numbers below 300 are used only
    once, so they come on top.
    """
    with contextlib.suppress(OSError):
        (proc / _PID_MAX).write_text(str(_RESERVED_PIDS + count))


def bound_processes(count: int, *, own_user: bool) -> None:
    """Allow at most `count` processes and threads, or what `bound_namespace` allowed.

    `own_user`: in a user namespace of its own, RLIMIT_NPROC counts only what runs there. Raises
    OSError if nothing can bind the user, as for root before Linux 6.14.
    """
    if not _is_real_root():
        _lower(resource.RLIMIT_NPROC, count if own_user else count + _tasks_of_user())
    elif not _is_namespace_bound(count):
        raise PermissionError(errno.EPERM, "no limit on processes binds root before Linux 6.14")


def _is_namespace_bound(count: int) -> bool:
    try:
        return int(Path("/proc", _PID_MAX).read_text()) <= _RESERVED_PIDS + count
    except (OSError, ValueError):
        return False


def _is_real_root() -> bool:
    """Whether we are the machine's root, judged by the user namespace's map."""
    if os.geteuid():
        return False
    with contextlib.suppress(OSError, ValueError, IndexError):
        first = Path("/proc/self/uid_map").read_text().split()
        return int(first[1]) == 0
    return True


def _lower(limit: int, value: int) -> None:
    hard = resource.getrlimit(limit)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(limit, (bound, bound))
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None


def _tasks_of_user() -> int:
    """Number of processes and threads that our user runs on the machine now."""
    tasks, user = 0, os.getuid()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == user:
                tasks += len(list((entry / "task").iterdir()))
    return tasks
