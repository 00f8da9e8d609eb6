"""Commands that may be stopped at any moment: nothing is lost, and they say how to go on."""

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
def sigterm_interrupts() -> Iterator[None]:
    """Within the block SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM within the block into `Interrupted`; `command` is how to go on."""
    with sigterm_interrupts():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(command) from None


def command_line(name: str, run_dir: Path) -> str:
    """A command line that can be copied as it stands."""
    return f"rooftree {name} {shlex.quote(str(run_dir))}"
