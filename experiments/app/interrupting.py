"""A command on a run that may be stopped at any moment: nothing is lost, it says how to go on."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The run was stopped from outside; its journal is whole."""

    def __init__(self, command: str) -> None:
        super().__init__(f"interrupted, nothing is lost; resume with: {command}")


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM alike end in `Interrupted`; `command` is how to go on."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(command) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def command_line(name: str, run_dir: Path) -> str:
    """A command line that can be copied as it stands."""
    return f"rooftree {name} {shlex.quote(str(run_dir))}"
