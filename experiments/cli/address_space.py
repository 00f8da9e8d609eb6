"""A limit of address space (`ulimit -v`): refused if it is too small, named if it was met."""

from __future__ import annotations

import os
import resource

LEAST_MIB = 512
"""What Python with numpy, scipy and a recording maps, and half as much again."""
PER_CORE_MIB = 64
"""What OpenBLAS and malloc reserve for the thread that each core gets. OpenBLAS tries without end
to get it, in C, where no signal is heard: so that less is refused before it is loaded."""
_MOST_THREADS = 64
"""As many threads the OpenBLAS in numpy's and scipy's wheels starts at most."""

OUT_OF_SPACE = (MemoryError, SystemError, ImportError, RuntimeError)
"""What Python raises if memory, a library or a thread cannot be mapped."""


def limit_mib() -> int | None:
    """The limit of this process's address space in MiB; None if it has none."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft // 2**20


def problem() -> str | None:
    """Why the limit is too small to begin with, and what to do; None if it is not."""
    limit = limit_mib()
    needed = LEAST_MIB + PER_CORE_MIB * min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    if limit is None or limit >= needed:
        return None
    return (
        f"the address space is limited to {limit} MiB (ulimit -v), and {needed} MiB are the least "
        "on this machine: raise the limit, or bound memory by a control group instead"
    )


def exhausted(error: BaseException) -> str | None:
    """What to say of an error that a limit may have caused; None if there is no limit, and memory
    did not run out.
    """
    limit = limit_mib()
    if limit is None and not isinstance(error, MemoryError):
        return None
    told = " ".join(str(error).split())[:200] or type(error).__name__
    if limit is None:
        return f"memory ran out ({told}): what was written is whole, a search can be resumed"
    return (
        f"{told}, with the address space limited to {limit} MiB (ulimit -v): raise the limit and "
        "try again; what was written is whole, a search can be resumed"
    )
