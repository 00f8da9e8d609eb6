"""Resource limits, and a bound on processes that also binds root."""

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


def be_first_out_of_memory() -> None:
    """Let the kernel end this process, not the judge, where memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OUT_OF_MEMORY_SCORE)


def apply(jail: Jail) -> None:
    """Set the limits that hold for each process. OSError where one cannot be lowered."""
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
    """Bound the processes and threads of a PID namespace by its `pid_max`, where it has its own.

    `proc`: its /proc. That binds root too, from Linux 6.14 on, and allows for the numbers below 300
    that are used only once.
    """
    with contextlib.suppress(OSError):
        (proc / _PID_MAX).write_text(str(_RESERVED_PIDS + count))


def bound_processes(count: int, *, own_user: bool) -> None:
    """Let there be at most `count` processes and threads, or what `bound_namespace` allowed.

    `own_user`: in a user namespace of our own RLIMIT_NPROC counts only what runs there. Raises
    OSError where nothing binds.
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
    """Whether we are root of the machine, as far as the user namespace's map tells."""
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
    """Processes and threads that our user has now, everywhere on the machine."""
    tasks, user = 0, os.getuid()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == user:
                tasks += len(list((entry / "task").iterdir()))
    return tasks
