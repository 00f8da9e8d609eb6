"""Failures of a compilation that say little about the source."""

from __future__ import annotations

from profilers.compiling.compiler import CompileFailed


class CompileLost(CompileFailed):
    """The compiler crashed, ran out of memory or was killed: another time it may do.

    killed: with SIGKILL, which nobody sends but the kernel's memory killer and an operator.
    """

    def __init__(
        self, message: str, *, log: str = "", seconds: float = 0.0, killed: bool = False
    ) -> None:
        super().__init__(message, log=log, seconds=seconds)
        self.killed = killed
