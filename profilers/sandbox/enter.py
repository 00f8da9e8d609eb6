"""Entering a jail: the current process becomes a guardian, and its child returns in the jail."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from profilers.sandbox import guardian, landlock, limits, mounts, namespaces, seccomp, syscalls
from profilers.sandbox.jail import Jail
from profilers.sandbox.report import JailReport
from profilers.sandbox.view import FileSystemView, view_of

_OWN_ENTRY = Path("/proc/self")
"""The driver writes names of threads below it, and fails (error 304) if it cannot."""


def prepare() -> None:
    """Find out once what does not change, so that forks of this process enter faster."""
    namespaces.survey()
    mounts.prepare()


def enter(jail: Jail, *, lifelines: tuple[int, ...] = (0,)) -> JailReport:
    """Return in a child that is held by `jail`; this process only waits for it from now on.

    The caller must have one thread. Its open descriptors stay open in the child. This process
    keeps only the standard streams and `lifelines`, and ends as the child does; when the first of
    the lifelines hangs up, everything in the jail is killed. The report names whatever this
    machine refuses.
    """
    view = view_of(jail)
    with contextlib.suppress(PermissionError):  # leads a group already
        os.setsid()
    report = JailReport()
    namespaces.separate(report, gpu=jail.gpu)
    own_pids = report.has("pid")
    if not own_pids:
        syscalls.prctl(syscalls.SET_SUBREAPER, 1)
    ended_inside = _fork_guarded(lifelines, sweep=not own_pids)
    _isolate(jail, view, report, own_pids=own_pids)
    if own_pids:
        first = os.fork()
        if first:
            guardian.run_init(first, ended=ended_inside)
        os.setsid()
    os.close(ended_inside)
    _restrict(view, report, own_pids=own_pids)
    return report


def _fork_guarded(lifelines: tuple[int, ...], *, sweep: bool) -> int:
    """Fork. The parent stays as guardian; the child returns the pipe to report its end on."""
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


def _isolate(jail: Jail, view: FileSystemView, report: JailReport, *, own_pids: bool) -> None:
    """Set up once for all that will run in the jail: its own files, limits, no privileges."""
    own_proc = own_pids and namespaces.survey().proc is None
    with report.attempt("mount"):
        syscalls.unshare(syscalls.NEW_MOUNT)
        processes = jail.processes if own_proc else None
        mounts.enter_view(view, size=jail.tmpfs_bytes, processes=processes)
    if own_proc and not report.has("mount"):
        with contextlib.suppress(OSError):  # the reason is noted already
            mounts.mount_own_proc()
    limits.be_killed_first_without_memory()
    with report.attempt("processes"):
        limits.bound_processes(jail.processes, own_user=report.has("user"))
    with report.attempt("limits"):
        limits.apply_limits(jail)
    with report.attempt("no_new_privs"):
        syscalls.prctl(syscalls.SET_NO_NEW_PRIVS, 1)
    with report.attempt("capabilities"):
        syscalls.drop_capabilities()


def _restrict(view: FileSystemView, report: JailReport, *, own_pids: bool) -> None:
    """Restrict this process and all it starts, but not the init process that reaps its orphans."""
    private = report.has("mount")
    own_proc = private and own_pids and namespaces.survey().proc is None
    if not own_proc:
        # Also through an exec: a rule for a folder of /proc ends when its entry is forgotten.
        with contextlib.suppress(OSError):
            os.set_inheritable(os.open(_OWN_ENTRY, os.O_PATH), True)
    with report.attempt("landlock"):
        landlock.restrict(_rules(view, private=private, own_proc=own_proc))
    with report.attempt("seccomp"):
        seccomp.install(connect=private)


def _rules(view: FileSystemView, *, private: bool, own_proc: bool) -> Iterator[landlock.Rule]:
    """Landlock's rules for `view`.

    `private`: the folders in memory are mounted, otherwise /tmp and its like are still everyone's.
    `own_proc`: /proc shows only our own processes, and only their entries can be written.
    """
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
