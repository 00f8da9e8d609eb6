"""What a run shows while it goes: a live panel on a terminal, plain lines elsewhere, or nothing.

All is written to standard error, so that `--json` keeps standard output to itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from experiments.live.board import Board
from experiments.live.panel import Panel
from experiments.live.plain import PlainLines, spoken
from experiments.live.screen import can_draw, drawn
from experiments.live.tail import JournalTail
from mcts.errors import InputError, JournalError
from mcts.loop.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType

_PER_SECOND = 2.0
"""Seldom, because the thread that draws shares its interpreter with what measures."""

Display = Literal["auto", "plain", "quiet"]


@contextmanager
def progress_display(
    *,
    title: str,
    minutes: float | None,
    replayed: bool = False,
    run_dir: Path | None = None,
    display: Display = "auto",
    stream: TextIO | None = None,
) -> Iterator[Callable[[Progress], None]]:
    """Yields the callback to hand to the optimizer. `replayed`: what is judged takes no GPU.

    The tree and what is under way are read from the journal in `run_dir`.
    """
    target = sys.stderr if stream is None else stream
    if display == "quiet":
        yield lambda _progress: None
        return
    board = Board()
    follow = _follower(board, run_dir)
    if display == "plain" or not can_draw(target):
        lines = PlainLines(target)
        with spoken(lines, board, follow):
            yield lines
        return
    panel = Panel(title=title, minutes=minutes, replayed=replayed, board=board)

    def render(width: int, height: int) -> RenderableType:
        follow()
        return panel.render(width=width, height=height)

    with drawn(target, render, on_line=panel.show_line, per_second=_PER_SECOND):
        yield panel.take


def _follower(board: Board, run_dir: Path | None) -> Callable[[], None]:
    """Brings the board up to date; a journal that cannot be read leaves it as it is."""
    if run_dir is None:
        return lambda: None
    try:
        tail = JournalTail(run_dir)
    except InputError:
        return lambda: None

    def follow() -> None:
        try:
            for event, at in tail.until(frozenset()):
                board.take(event, at)
        except (InputError, JournalError):
            return  # whoever writes it meets the same, and tells it

    return follow
