"""The live panel: what fits of it on a terminal of any size, the most telling first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.live import tree_rows
from experiments.live.board import Board
from experiments.live.flights import counted, flight_words
from experiments.text.nodes import fit
from experiments.text.quantities import clock, sparkline
from experiments.text.spending import caps_text, spending_text
from experiments.text.stages import shares_text
from mcts.loop.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_BAR_WIDTH = 40
_LABELS = 10
_FRAME = 4
_FRAMED_FROM = (60, 14)
"""Columns and rows from which on there is room for a frame."""
_TREE_ROWS = 12
"""Rows of the tree where the terminal's height is not known."""
_LINE = 300
_STYLES = {
    "best": "bold yellow",
    "path": "yellow",
    "measured": "",
    "new": "bold",
    "failed": "red",
    "duplicate": "dim",
    "flight": "cyan",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of the panel; where rows are short, those of a lower `rank` stay."""

    rank: int
    label: str
    content: RenderableType


class Panel:
    """The live picture: best so far and how it came about, the tree, what is under way, the time
    left. The figures come from `take`, the tree and what is under way from the `board`.

    `paced_from_start`: the whole run says how fast it goes, not only what was seen of it.
    """

    def __init__(
        self,
        *,
        title: str,
        minutes: float | None,
        replayed: bool = False,
        board: Board | None = None,
        paced_from_start: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._title, self._minutes, self._clock = title, minutes, clock
        self._replayed, self._now_s = replayed, now
        self._taken_at = clock()
        self._history: list[float] = []
        self._fresh_from: tuple[int, float] | None = (0, 0.0) if paced_from_start else None
        self._now: Progress | None = None
        self.board = board
        self._said = self._over = ""

    def show_line(self, line: str) -> None:
        """Show what was said on standard error."""
        self._said = line

    def end(self, words: str, progress: Progress) -> None:
        """The run is over: show what it came to, and how it ended in `words`."""
        self.take(progress)
        self._over = words

    def rename(self, title: str) -> None:
        self._title = title

    def take(self, progress: Progress) -> None:
        self._now, self._taken_at = progress, self._clock()
        if progress.best_speedup:
            self._history.append(progress.best_speedup)
        if self._fresh_from is None and not progress.replaying:
            self._fresh_from = (progress.evaluations, progress.elapsed_s)

    def render(self, *, width: int, height: int | None = None) -> RenderableType:
        """The panel on a terminal of `width` columns and `height` rows."""
        from rich.console import Group
        from rich.panel import Panel as Frame
        from rich.text import Text

        title = Text(fit(self._title, _LINE), no_wrap=True, overflow="ellipsis")
        if self._now is None:
            return title
        framed = width >= _FRAMED_FROM[0] and (height is None or height >= _FRAMED_FROM[1])
        room = None if height is None else height - (2 if framed else 1)
        inner = width - _FRAME if framed else width
        lines = self._lines(self._now, inner, room)
        if framed:
            return Frame(
                _grid(lines), title=title, title_align="left", border_style="green", padding=(0, 1)
            )
        title.stylize("bold")
        return Group(title, _grid(lines))

    def _lines(self, now: Progress, width: int, room: int | None) -> list[_Line]:
        """The rows that fit, in the order in which they are shown."""
        lines = [*self._figures(now, width), *self._under_way(room)]
        last = _Line(4, "latest", _text(now.last))
        said = [_Line(1, "said", _text(self._said, "yellow"))] if self._said else []
        fixed = [*lines, last, *said]
        if room is not None:
            stay = sorted(range(len(fixed)), key=lambda at: (fixed[at].rank, at))[:room]
            kept = [fixed[at] for at in sorted(stay)]
        else:
            kept = fixed
        free = _TREE_ROWS if room is None else room - len(kept)
        cut = next((at for at, line in enumerate(kept) if line is last), len(kept))
        return [*kept[:cut], *self._tree(free, width), *kept[cut:]]

    def _figures(self, now: Progress, width: int) -> list[_Line]:
        bar = max(8, min(_BAR_WIDTH, width - _LABELS))
        since_s = 0.0 if self._over else self._clock() - self._taken_at
        elapsed_s = now.elapsed_s + since_s
        left = self._left(now, elapsed_s)
        lines = [_Line(0, "best", _best_text(now))]
        curve = self.board.curve if self.board and self.board.curve else self._history
        if len(curve) > 1:
            lines.append(_Line(8, "so far", _text(sparkline(curve, bar), "green")))
        if now.budget:
            lines.append(_Line(5, "trials", _progress_bar(now, bar)))
        lines += [
            _Line(1, "" if now.budget else "trials", _text(self._counts(now))),
            _Line(2, "time", _text(f"{clock(elapsed_s)} gone{f', {left}' if left else ''}")),
        ]
        if self.board is not None and (went := shares_text(self.board.reader.stages)):
            lines.append(_Line(7, "", _text(went)))
        if self.board is not None and self.board.failures:
            words = ", ".join(f"{n} {kind}" for kind, n in self.board.failures.most_common())
            lines.append(_Line(6, "failed", _text(words)))
        none_yet = now.spending.gpu_s == 0
        if spent := spending_text(now.spending, replayed=self._replayed or none_yet):
            lines.append(_Line(6, "spent", _text(spent)))
        if now.caps is not None and (caps := caps_text(now.caps)):
            lines.append(_Line(7, "at most", _text(caps)))
        return lines

    def _counts(self, now: Progress) -> str:
        in_flight = self.board.in_flight if self.board is not None else now.in_flight
        done = f"{now.evaluations} of {now.budget}" if now.budget else f"{now.evaluations} told"
        return (
            f"{done}, {now.failed} failed, {in_flight} in flight, {now.unique} unique, "
            f"tree of {now.nodes}"
        )

    def _under_way(self, room: int | None) -> list[_Line]:
        """What each trial in flight is doing, first asked first; of many the sum, and some."""
        if self.board is None or self._over:
            return []
        flights, now_s = self.board.flights, self._now_s()
        rows = _FLIGHTS if room is None or room < _TALL else 2 * _FLIGHTS
        words = [flight_words(flight, now_s) for flight in flights[:rows]]
        if len(flights) > rows:
            words = [counted(flights), *words[:-1], f"and {len(flights) - rows + 1} more"]
        return [
            _Line(3 if at < rows else 7, "" if at else "now", _text(line, "cyan"))
            for at, line in enumerate(words)
        ]

    def _tree(self, most: int, width: int) -> list[_Line]:
        from rich.text import Text

        if self.board is None or most < 3:
            return []
        lines: list[_Line] = []
        most, line = min(most, 2 * _TREE_ROWS), max(1, width // 20)
        for row in tree_rows.rows(self.board, most, line=line, over=bool(self._over)):
            shown = Text(no_wrap=True, overflow="ellipsis")
            shown.append(row.branches, "dim")
            shown.append(row.head, _STYLES[row.style])
            shown.append(f"  {fit(row.words, _LINE)}", "dim" if row.style != "flight" else "cyan")
            lines.append(_Line(9, "" if lines else "tree", shown))
        return lines

    def _left(self, now: Progress, elapsed_s: float) -> str:
        """From the pace of this session: what was replayed from the journal took no time."""
        if self._over:
            return self._over
        if now.phase == "confirming":
            return "measuring the finalists again"
        first, since = self._fresh_from or (0, 0.0)
        done = now.evaluations - first
        bounds = []
        if done > 0 and now.budget:
            whole_s = (now.elapsed_s - since) / done * (now.budget - now.evaluations)
            bounds.append(max(0.0, whole_s - (elapsed_s - now.elapsed_s)))
        if self._minutes is not None:
            bounds.append(max(0.0, self._minutes * 60 - elapsed_s))
        return f"about {clock(min(bounds))} left" if bounds else "time left not known yet"


_FLIGHTS, _TALL = 4, 32
"""Trials in flight that get a row of their own; twice as many where there are so many rows."""


def _grid(lines: list[_Line]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(style="dim", justify="right", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for line in lines:
        grid.add_row(line.label, line.content)
    return grid


def _text(words: str, style: str = "") -> Text:
    """One line, whatever it says."""
    from rich.text import Text

    return Text(fit(words, _LINE), style=style, no_wrap=True, overflow="ellipsis")


def _progress_bar(now: Progress, width: int) -> RenderableType:
    from rich.progress_bar import ProgressBar

    return ProgressBar(
        total=now.budget,
        completed=now.evaluations,
        width=width,
        complete_style="green",
        finished_style="green",
    )


def _best_text(now: Progress) -> Text:
    from rich.text import Text

    if now.best_speedup is None or now.best_us is None or now.baseline_us is None:
        return Text("measuring the baseline", style="dim")
    return Text.assemble(
        (f"{now.best_speedup:.2f}x", "bold green"),
        f"   {now.best_us:.1f} us, the baseline takes {now.baseline_us:.1f} us",
        no_wrap=True,
        overflow="ellipsis",
    )
