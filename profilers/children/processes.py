"""Disposable child processes: allow-listed environment, a deadline per request, a reliable kill."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcts.domain import Isolation
from mcts.errors import WorldError
from profilers.children.channel import Channel, ChildGone, make_ends
from profilers.children.supervised import kill_by_environment
from profilers.sandbox import Jail
from profilers.sandbox.launch import launch_command
from profilers.sandbox.report import read_report

__all__ = ["Child", "ChildGone", "allow_listed", "child_environment", "describe_ending"]

_ALLOWED = frozenset(
    {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV",
     "XDG_CACHE_HOME", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
     "NVIDIA_TF32_OVERRIDE"}
)  # fmt: skip
# NVIDIA_ is not an allowed prefix: NVIDIA_API_KEY is a key to hosted models.
_ALLOWED_PREFIXES = ("LC_", "CUDA_")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"://[^/@\s]+@")
_MARK = "ROOFTREE_CHILD"
"""Environment variable that marks a child and all its descendants."""

_GUARDIAN_S = 5.0
_PROBE_TIMEOUT_S = 30.0


def allow_listed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a child may see: none that is or contains a key or a password."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _ALLOWED or name.startswith(_ALLOWED_PREFIXES))
        and not _SECRET_NAME.search(name)
        and not _SECRET_VALUE.search(value)
    }


def child_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed variables of `base` (default: ours), so that no key ever leaks.

    Our own packages stay importable wherever they were imported from.
    """
    environment = allow_listed(os.environ if base is None else base)
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    return environment


class Child(Channel):
    """A process of its own, in its own session, and in a jail if one is given.

    Its stdin stays open as a lifeline: it reads end-of-file there when the parent dies.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        jail: Jail | None = None,
        descriptors: bool = False,
    ) -> None:
        """Start `argv` with ``--requests FD --replies FD`` appended.

        With `descriptors` also ``--descriptors FD``, a `descriptors.DescriptorSocket`. A jail
        must let its process see `argv`: list it in `readable` unless it is an installed program.
        Raises WorldError if the process cannot be started.
        """
        ours, theirs = make_ends(report=jail is not None, descriptors=descriptors)
        command = [*argv, "--requests", str(theirs.requests), "--replies", str(theirs.replies)]
        if descriptors:
            command += ["--descriptors", str(theirs.descriptors)]
        if jail is not None:
            command = launch_command(jail, command, report=theirs.report)
        name, value = _MARK, secrets.token_hex(8)
        self._mark = f"{name}={value}"
        variables = child_environment() if environment is None else environment
        try:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.lifeline,
                stdout=theirs.output,
                stderr=subprocess.STDOUT,
                pass_fds=[fd for fd in theirs.open() if fd not in (theirs.lifeline, theirs.output)],
                cwd=cwd,
                env={**variables, name: value},
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise WorldError(f"cannot start {argv[0]}: {error}") from error
        finally:
            theirs.close()
        self._guarded = jail is not None
        super().__init__(ours)

    @classmethod
    def module(
        cls,
        name: str,
        *,
        cwd: Path,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        jail: Jail | None = None,
        descriptors: bool = False,
    ) -> Child:
        """Start ``python -m name``; nothing is ever imported from `cwd`."""
        command = [sys.executable, "-P", "-m", name, *arguments]
        return cls(command, cwd=cwd, environment=environment, jail=jail, descriptors=descriptors)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL it and all that it started, and wait for its end; idempotent."""
        if self._ends.requests < 0:
            return
        if self._guarded and self._has_entered():
            # Its guardian kills all that is in the jail, and ends only then.
            self.hang_up()
            self._wait(_GUARDIAN_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._wait(30)
        self._close()
        if self._report is None or not self._report.has("pid"):
            kill_by_environment(self._mark)

    def _has_entered(self) -> bool:
        if self._report is None:
            with contextlib.suppress(WorldError, OSError, ValueError):
                self._report = read_report(self._ends.report, timeout_s=0)
        return self._report is not None

    def _ending(self, *, timeout_s: float) -> str | None:
        self._wait(timeout_s)
        code = self._process.poll()
        return describe_ending(code) if code else None

    def _wait(self, timeout_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=timeout_s)


def describe_ending(code: int) -> str:
    """An exit code in words; negative means a signal."""
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


@functools.cache
def probe_isolation(*, gpu: bool = False) -> Isolation:
    """What this machine can isolate untrusted code with, found by jailing a throwaway process.

    Cached for this process. WorldError if no process can be started.
    """
    reader, writer = os.pipe()
    command = launch_command(Jail(gpu=gpu), ["/bin/true"], report=writer)
    try:
        process = subprocess.Popen(
            command, env=child_environment(), pass_fds=(writer,), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        os.close(reader)
        raise WorldError(f"cannot start {command[0]}: {error}") from error
    finally:
        os.close(writer)
    try:
        return read_report(reader, timeout_s=_PROBE_TIMEOUT_S).isolation()
    finally:
        process.kill()
        process.wait()
        os.close(reader)
