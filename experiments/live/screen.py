"""A display on a terminal's second screen: it is drawn afresh at every size, and leaves no trace.

What anything says on standard error meanwhile is shown in the panel, and again once it is closed.
"""

from __future__ import annotations

import io
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

_KEPT_LINES = 200


def can_draw(stream: TextIO) -> bool:
    """Whether a panel can be drawn there: on a terminal that can move its cursor."""
    if not stream.isatty():
        return False
    from rich.console import Console

    return not Console(file=stream).is_dumb_terminal


@contextmanager
def drawn(
    stream: TextIO,
    render: Callable[[int, int], RenderableType],
    *,
    on_line: Callable[[str], None] = lambda _line: None,
    per_second: float = 4.0,
) -> Iterator[None]:
    """Draw what `render` makes of width and height, so many times a second, until left.

    `on_line` is called with each whole line that is written to standard error.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(file=stream)
    captured = _CapturedErrors(on_line)
    try:
        with (
            redirect_stderr(captured),
            Live(
                console=console,
                get_renderable=lambda: render(console.width, console.height),
                refresh_per_second=per_second,
                screen=True,
                redirect_stdout=False,
                redirect_stderr=False,
            ) as live,
        ):
            live.refresh()
            yield
    finally:
        for line in captured.lines:
            print(line, file=stream)


class _CapturedErrors(io.TextIOBase):
    """Standard error while the second screen is up: its last lines, and each as it comes."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line, self._begun = on_line, ""
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)

    @property
    def lines(self) -> list[str]:
        return [*self._lines, *([self._begun] if self._begun else [])]

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._lines.append(line)
            if line.strip():
                self._on_line(line)
        return len(text)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return sys.getdefaultencoding()
