"""Disposable child processes: an allow-listed environment, a deadline per request, a sure kill."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.protocol import DeadlineError, FrameError, read_frame, write_frame

_ALLOWED = frozenset(
    {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV",
     "XDG_CACHE_HOME", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
     "NVIDIA_TF32_OVERRIDE"}
)  # fmt: skip
# NVIDIA_ is no prefix: NVIDIA_API_KEY is a key to hosted models.
_ALLOWED_PREFIXES = ("LC_", "CUDA_")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"://[^/@\s]+@")
_OUTPUT_CAP = 8192


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
    root = str(Path(__file__).resolve().parents[1])
    paths = [root, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    return environment


class ChildGone(Exception):
    """The child crashed, hung or broke the protocol. It has been killed.

    `hung` tells a deadline from a crash; `output` is the end of what it printed.
    """

    def __init__(self, reason: str, *, hung: bool, output: str) -> None:
        super().__init__(reason)
        self.hung = hung
        self.output = output


class Child:
    """A child in its own session that answers one request at a time over dedicated pipes.

    Its stdin stays open as a lifeline: it reads end-of-file there when the parent dies. What it
    prints is kept up to a cap. Not thread-safe.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start `argv` with ``--requests FD --replies FD`` appended.

        Raises WorldError where the process cannot be started.
        """
        theirs_in, self._requests = os.pipe()
        self._replies, theirs_out = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*argv, "--requests", str(theirs_in), "--replies", str(theirs_out)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs_in, theirs_out),
                cwd=cwd,
                env=dict(child_environment() if environment is None else environment),
                start_new_session=True,
            )
        except OSError as error:
            self._close_pipes()
            raise WorldError(f"cannot start {argv[0]}: {error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._replies, False)
        self._output = b""
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    @classmethod
    def module(cls, name: str, *, cwd: Path, arguments: Sequence[str] = ()) -> Child:
        """Start ``python -m name``."""
        return cls([sys.executable, "-m", name, *arguments], cwd=cwd)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def request(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Send a request and return the reply; ChildGone, and the child killed, without one."""
        deadline = time.monotonic() + timeout_s
        try:
            write_frame(self._requests, message, deadline=deadline)
            reply = read_frame(self._replies, deadline=deadline)
        except DeadlineError:
            raise self._gone(f"no answer within {timeout_s:.3g} s", hung=True) from None
        except (FrameError, OSError) as error:
            raise self._gone(str(error), hung=False) from None
        except BaseException:  # interrupted: a late reply would be taken for the next one's
            self.kill()
            raise
        if reply is None:
            raise self._gone("it ended", hung=False)
        return reply

    def kill(self) -> None:
        """SIGKILL the whole process group and reap the child; idempotent."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=30)
        self._close_pipes()

    def _gone(self, reason: str, *, hung: bool) -> ChildGone:
        if not hung:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
            code = self._process.poll()
            if code is not None and code < 0:
                reason = f"killed by {signal.Signals(-code).name}"
            elif code:
                reason = f"ended with exit code {code}"
        self.kill()
        self._reader.join(timeout=1)
        return ChildGone(reason, hung=hung, output=self._output.decode(errors="replace").strip())

    def _drain(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError), stream:
            while part := os.read(stream.fileno(), 65536):
                self._output = (self._output + part)[-_OUTPUT_CAP:]

    def _close_pipes(self) -> None:
        for name in ("_requests", "_replies"):
            fd = getattr(self, name, -1)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)
        process: subprocess.Popen[bytes] | None = getattr(self, "_process", None)
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
