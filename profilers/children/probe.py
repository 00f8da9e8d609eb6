"""What this machine can hold untrusted code with, found by trying."""

from __future__ import annotations

import functools
import os
import subprocess

from mcts.domain import Isolation
from mcts.errors import WorldError
from profilers.children.processes import child_environment
from profilers.sandbox.jail import Jail
from profilers.sandbox.launch import launch_command
from profilers.sandbox.report import read_report

_TIMEOUT_S = 30.0


@functools.cache
def probe(*, gpu: bool = False) -> Isolation:
    """Take a throwaway process into a jail and return what held; cached for this process.

    WorldError where no process can be started.
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
        return read_report(reader, timeout_s=_TIMEOUT_S).isolation()
    finally:
        process.kill()
        process.wait()
        os.close(reader)
