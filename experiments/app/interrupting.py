"""Commands that may be stopped at any moment: nothing is lost, and they say how to go on."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_OUTPUTS = (1, 2)


class Interrupted(KeyboardInterrupt):
    """The run was stopped from outside; its journal is whole."""

    def __init__(self, command: str) -> None:
        super().__init__(f"interrupted, nothing is lost; resume with: {command}")


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does.

    A SIGHUP that is ignored, as under nohup, stays so. After one, output goes nowhere if its
    terminal is gone, so that what is to be closed can still say its lines.
    """
    terminals = [fd for fd in _OUTPUTS if os.isatty(fd)]

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_terminals(terminals)
        raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    if before[signal.SIGHUP] == signal.SIG_IGN:
        del before[signal.SIGHUP]
    for each in before:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _leave_terminals(terminals: list[int]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in terminals:
        if not os.isatty(fd):
            os.dup2(nowhere, fd)
    os.close(nowhere)


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP within the block into `Interrupted`.

    `command` is how to go on.
    """
    with signals_interrupt():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(command) from None


def command_line(name: str, run_dir: Path) -> str:
    """A command line that can be copied as it stands."""
    return f"rooftree {name} {shlex.quote(str(run_dir))}"
