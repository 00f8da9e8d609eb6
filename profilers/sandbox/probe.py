"""What this machine can hold untrusted code with, found by trying."""

from __future__ import annotations

import functools
import os
import select
import subprocess
from typing import TYPE_CHECKING

from mcts.errors import WorldError
from profilers.sandbox.held import Held
from profilers.sandbox.jail import Jail

if TYPE_CHECKING:
    from mcts.domain import Isolation

_TIMEOUT_S = 30.0


@functools.cache
def probe(*, gpu: bool = False) -> Isolation:
    """Take a throwaway process into a jail and return what held; cached for this process.

    WorldError where no process can be started.
    """
    from profilers.children.processes import child_environment
    from profilers.sandbox.launch import launch_command

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


def read_report(fd: int, *, timeout_s: float) -> Held:
    """The line that a process wrote when it was in its jail; WorldError without one."""
    text = b""
    while not text.endswith(b"\n"):
        if not select.select([fd], [], [], timeout_s)[0]:
            raise WorldError(f"a process did not enter its jail within {timeout_s:.0f} s")
        part = os.read(fd, 65536)
        if not part:
            raise WorldError("a process ended before it was in its jail")
        text += part
    return Held.from_json(text.decode())
