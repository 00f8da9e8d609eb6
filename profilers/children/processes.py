"""Disposable child processes: an allow-listed environment, a deadline per request, a sure kill."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcts.errors import WorldError
from profilers.children.channel import Channel, ChildGone, make_ends
from profilers.children.supervised import kill_carrying
from profilers.sandbox import Jail
from profilers.sandbox.launch import launch_command
from profilers.sandbox.report import read_report

__all__ = ["Child", "ChildGone", "allow_listed", "child_environment", "describe_ending"]

_ALLOWED = frozenset(
    {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV",
     "XDG_CACHE_HOME", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
     "NVIDIA_TF32_OVERRIDE"}
)  # fmt: skip
# NVIDIA_ is no prefix: NVIDIA_API_KEY is a key to hosted models.
_ALLOWED_PREFIXES = ("LC_", "CUDA_")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"://[^/@\s]+@")
_MARK = "ROOFTREE_CHILD"
"""Names, in its environment, the child that a process descends from."""

_GUARDIAN_S = 5.0


def allow_listed(environment: Mapping[str, str]) -> dict[str, str]:
    """What of `environment` a child may see: nothing that is or carries a key or a password."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _ALLOWED or name.startswith(_ALLOWED_PREFIXES))
        and not _SECRET_NAME.search(name)
        and not _SECRET_VALUE.search(value)
    }


def child_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """`base` (default: ours) less everything not on the allow-list, so no key ever leaks.

    Our own packages stay importable wherever they were imported from.
    """
    environment = allow_listed(os.environ if base is None else base)
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    return environment


class Child(Channel):
    """A process of its own, in its own session, held by a jail where one is given.

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

        With `descriptors` also ``--descriptors FD``, a socket for `descriptors.Descriptors`. A jail
        must let its process see `argv`, in `readable` where that is no installed program.
        Raises WorldError where the process cannot be started.
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
        """SIGKILL all that it started, wherever that went, and bury it; idempotent."""
        if self._ends.requests < 0:
            return
        if self._guarded and self._has_entered():
            # Its guardian ends all that is in the jail, and only then itself.
            self._cut_lifeline()
            self._wait(_GUARDIAN_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._wait(30)
        self._close()
        if self._held is None or not self._held.has("pid"):
            kill_carrying(self._mark)

    def _has_entered(self) -> bool:
        if self._held is None:
            with contextlib.suppress(WorldError, OSError, ValueError):
                self._held = read_report(self._ends.report, timeout_s=0)
        return self._held is not None

    def _ending(self, *, timeout_s: float) -> str | None:
        self._wait(timeout_s)
        code = self._process.poll()
        return describe_ending(code) if code else None

    def _wait(self, timeout_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=timeout_s)


def describe_ending(code: int) -> str:
    """What an exit code says; negative for a signal."""
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"
