"""Going in: the current process becomes a guardian, and its child comes back jailed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from profilers.sandbox import guardian, kernel, landlock, limits, mounts, namespaces, seccomp
from profilers.sandbox.held import Held
from profilers.sandbox.jail import Jail
from profilers.sandbox.view import View, view_of

_OWN_ENTRY = Path("/proc/self")
"""Names of threads are written below it: NVIDIA's driver fails (error 304) where it cannot."""


def prepare() -> None:
    """Find out what does not change, so that the forks of this process enter faster."""
    namespaces.survey()
    mounts.prepare()


def enter(jail: Jail, *, lifelines: tuple[int, ...] = (0,)) -> Held:
    """Return in a child that is held by `jail`; this process only waits for it from now on.

    The caller must have one thread. What it holds open stays open in the child; itself it keeps
    only the standard streams and `lifelines`, descriptors of which the first to hang up ends all
    that is in the jail, and it ends as the child does. Whatever this machine refuses is named in
    the answer.
    """
    view = view_of(jail)
    with contextlib.suppress(PermissionError):  # leads a group already
        os.setsid()
    held = Held()
    namespaces.separate(held, gpu=jail.gpu)
    own_pids = held.has("pid")
    if not own_pids:
        kernel.prctl(kernel.SET_SUBREAPER, 1)
    ended_inside = _fork_guarded(lifelines, sweep=not own_pids)
    _shut_out(jail, view, held, own_pids=own_pids)
    if own_pids:
        first = os.fork()
        if first:
            guardian.tend_first(first, ended=ended_inside)
        os.setsid()
    os.close(ended_inside)
    _restrict(view, held, own_pids=own_pids)
    return held


def _fork_guarded(lifelines: tuple[int, ...], *, sweep: bool) -> int:
    """Fork. The parent stays as guardian; the child returns, with the pipe to report its end on."""
    alive, alive_outside = os.pipe()
    ended_outside, ended = os.pipe()
    work = os.fork()
    if work:
        guardian.guard(
            work, ended=ended_outside, lifelines=lifelines, alive=alive_outside, sweep=sweep
        )
    os.close(alive_outside)
    os.close(ended_outside)
    guardian.die_with_parent(alive)
    os.setsid()
    return ended


def _shut_out(jail: Jail, view: View, held: Held, *, own_pids: bool) -> None:
    """What is done once for all that will run in the jail: its own files, bounds and no rights."""
    own_proc = own_pids and namespaces.survey().proc is None
    with held.attempt("mount"):
        kernel.unshare(kernel.NEW_MOUNT)
        processes = jail.processes if own_proc else None
        mounts.enter_view(view, size=jail.tmpfs_bytes, processes=processes)
    if own_proc and not held.has("mount"):
        with contextlib.suppress(OSError):  # the reason is noted already
            mounts.private_proc()
    limits.be_first_out_of_memory()
    with held.attempt("processes"):
        limits.bound_processes(jail.processes, own_user=held.has("user"))
    with held.attempt("limits"):
        limits.apply(jail)
    with held.attempt("no_new_privs"):
        kernel.prctl(kernel.SET_NO_NEW_PRIVS, 1)
    with held.attempt("capabilities"):
        kernel.drop_capabilities()


def _restrict(view: View, held: Held, *, own_pids: bool) -> None:
    """What binds this process and all it starts, but not the one that buries its orphans."""
    private = held.has("mount")
    own_proc = private and own_pids and namespaces.survey().proc is None
    if not own_proc:
        # Also through an exec: a rule for a folder of /proc ends when its entry is forgotten.
        with contextlib.suppress(OSError):
            os.set_inheritable(os.open(_OWN_ENTRY, os.O_PATH), True)
    with held.attempt("landlock"):
        landlock.restrict(_rules(view, private=private, own_proc=own_proc))
    with held.attempt("seccomp"):
        seccomp.install(connect=private)


def _rules(view: View, *, private: bool, own_proc: bool) -> Iterator[landlock.Rule]:
    """`private`: the folders in memory are there, else they are still everyone's. `own_proc`:
    only our own processes are in /proc, and only what belongs to them can be written."""
    for path in view.readable:
        yield path, landlock.READ
    for path in view.listed:
        yield path, landlock.LIST
    for path in view.writable:
        yield path, landlock.WRITE
    for path in view.devices:
        yield path, landlock.DEVICE
    if private:
        yield Path("/"), landlock.LIST
        for path in view.private:
            yield path, landlock.WRITE
    yield Path("/proc"), landlock.WRITE_OLD_FILES if own_proc else landlock.READ
    yield _OWN_ENTRY, landlock.WRITE_OLD_FILES
