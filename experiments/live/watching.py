"""Watching a run from outside: its journal is followed, the search itself is never touched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from experiments.live import Panel, PlainLines
from experiments.live.board import Board
from experiments.live.screen import can_draw, drawn
from experiments.live.tail import JournalTail
from experiments.runs.folders.event_table import JournalDamaged
from experiments.runs.options.config import CONFIG_FILE, RunConfig, read_config
from experiments.text.nodes import fit
from mcts.errors import InputError, JournalError
from mcts.loop.budget import Budget
from mcts.loop.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType

POLL_S = 0.5
_SILENT_S = 2.0
"""Silence after which it is asked whether anybody still writes."""
_NEWS = frozenset({"told", "abandoned", "confirming", "confirmed"})
_REPLAY = "replay"
_TITLE = 200

Wait = Callable[[float], object]


class Watcher:
    """Follows one run until nobody writes it any more. Raises InputError if there is none."""

    def __init__(self, run_dir: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.board = Board()
        self._run_dir, self._clock = run_dir, clock
        self._tail = JournalTail(run_dir)
        self._config = self._read_config()
        self._last_event_at = clock()

    def _read_config(self) -> RunConfig | None:
        try:
            return read_config(self._run_dir / CONFIG_FILE)
        except InputError:
            return None  # the journal alone is enough to watch

    @property
    def minutes(self) -> float | None:
        return self._config.limits.minutes if self._config else None

    def catch_up(self) -> Progress:
        """Read all that has happened until now."""
        while self._take():
            pass
        return self.progress(known=True)

    def news(self) -> Iterator[Progress]:
        """Read what is new: an entry per settled trial and per step of a finalist."""
        while kinds := self._take(stop_at=_NEWS):
            if kinds[-1] in _NEWS:
                yield self.progress()

    def _take(self, *, stop_at: frozenset[str] = frozenset()) -> list[str]:
        """Kinds of the events read, up to the first one to stop at."""
        kinds: list[str] = []
        for event, at in self._tail.until(stop_at):
            self.board.take(event, at)
            kinds.append(event.kind)
            if event.kind in ("started", "resumed"):
                self._config = self._read_config()  # resume may have widened its limits
        if kinds:
            self._last_event_at = self._clock()
        return kinds

    def progress(self, *, known: bool = False, now: float | None = None) -> Progress:
        """Where the run stands. `known`: all of it had happened before anybody looked."""
        moment = self._clock() if now is None else now
        return self.board.progress(now=moment, caps=self._caps(), known=known)

    def _caps(self) -> Budget | None:
        if (config := self._config) is None:
            return None
        return Budget.of(config.limits)

    def is_written(self) -> bool | None:
        """Whether a process holds the run for writing; None if that cannot be told."""
        return self._tail.is_written()

    def ended(self) -> bool:
        """Whether the run is over: nobody holds it, and nothing is left to read.

        A writer is asked for only when the run says that it stopped, and after some silence.
        """
        silent = self._clock() - self._last_event_at >= _SILENT_S
        if self.board.running and not silent:
            return False
        written = self._tail.is_written()
        if written or (written is None and self.board.running):
            return False
        return not self._tail.more()


def watch(run_dir: Path, *, stream: TextIO, plain: bool = False, wait: Wait | None = None) -> Board:
    """Show a run on `stream` until it is over; returns what it came to.

    `wait` is called between two looks with the seconds to wait. Raises InputError if there is
    no run, JournalError, with what to do, where its journal is damaged.
    """
    watcher = Watcher(run_dir)
    wait = wait or threading.Event().wait
    try:
        first = watcher.catch_up()
        if plain or not can_draw(stream):
            _as_lines(watcher, first, stream, wait)
        else:
            _as_panel(watcher, first, stream, wait)
    except JournalDamaged:
        raise
    except JournalError as error:
        unreadable = "unable to open" in str(error)
        mend = "make it readable" if unreadable else "put a copy of it back, or start a new run"
        raise JournalError(f"{error}: {mend}") from error
    return watcher.board


def _as_lines(watcher: Watcher, first: Progress, stream: TextIO, wait: Wait) -> None:
    lines = PlainLines(stream)
    lines(first)
    over = watcher.ended()
    if not over:
        title = fit(watcher.board.title, _TITLE) or "a run that has not begun"
        print(f"watching {title}", file=stream, flush=True)
        lines(watcher.progress())
    while not over:
        wait(POLL_S)
        for progress in watcher.news():
            lines(progress)
        lines.under_way(watcher.board.flights)
        over = watcher.ended()


def _as_panel(watcher: Watcher, first: Progress, stream: TextIO, wait: Wait) -> None:
    from rich.console import Console

    lock = threading.Lock()
    panel = Panel(
        title=watcher.board.title,
        minutes=watcher.minutes,
        replayed=watcher.board.evaluator == _REPLAY,
        board=watcher.board,
        paced_from_start=True,
    )
    panel.take(first)

    def render(width: int, height: int) -> RenderableType:
        with lock:
            return panel.render(width=width, height=height)

    if not watcher.ended():
        with drawn(stream, render, on_line=panel.show_line):
            while not watcher.ended():
                wait(POLL_S)
                with lock:
                    for progress in watcher.news():
                        panel.take(progress)
                    panel.rename(watcher.board.title)
    board, console = watcher.board, Console(file=stream)
    how = "then it crashed or was killed" if board.running else board.reader.stop_reason
    panel.end(how, watcher.progress(now=board.last_event_at))
    console.print(panel.render(width=console.width))
