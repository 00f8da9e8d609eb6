"""What a run shows while it goes: a live panel on a terminal, plain lines elsewhere.

Both write to standard error, so that `--json` keeps standard output to itself.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from experiments.spending_text import caps_text, cost_text, spending_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mcts.progress import Progress

PLAIN_INTERVAL_S = 5.0
_BARS = "▁▂▃▄▅▆▇█"
_BAR_WIDTH = 40
_FRAME_WIDTH = 12


@contextmanager
def progress_display(
    *,
    title: str,
    minutes: float | None,
    replayed: bool = False,
    stream: TextIO | None = None,
) -> Iterator[Callable[[Progress], None]]:
    """Yields the callback to hand to the optimizer. `replayed`: what is judged takes no GPU."""
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        yield PlainLines(target)
        return
    from rich.console import Console
    from rich.live import Live

    panel = Panel(title=title, minutes=minutes, replayed=replayed)
    console = Console(file=target)
    with Live(
        console=console,
        get_renderable=lambda: panel.render(width=console.width),
        refresh_per_second=8,
        transient=True,
    ):
        yield panel.take


class PlainLines:
    """A line per improvement and per finalist, and one every few seconds, for logs."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._best = 0.0
        self._last_line_at = -math.inf

    def __call__(self, progress: Progress) -> None:
        if progress.replaying:
            self._best = max(self._best, progress.best_speedup or 0.0)
            return
        best, now = progress.best_speedup or 0.0, self._clock()
        confirming = progress.phase == "confirming"
        improved = best > self._best and not confirming
        due = now - self._last_line_at >= PLAIN_INTERVAL_S
        if not (improved or confirming or due):
            return
        self._best, self._last_line_at = max(best, self._best), now
        shown = f"best {best:.2f}x" if best else "no result yet"
        mark = "+" if improved else " "
        spent = _paid_text(progress)
        print(
            f"{mark} {progress.evaluations:>4}/{progress.budget}  {shown}  "
            f"failed {progress.failed}{f'  {spent}' if spent else ''}  {progress.last}",
            file=self._stream,
            flush=True,
        )


class Panel:
    """The live picture: best so far and how it came about, the tree's size, the time left."""

    def __init__(
        self,
        *,
        title: str,
        minutes: float | None,
        replayed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._minutes, self._clock = title, minutes, clock
        self._replayed = replayed
        self._taken_at = clock()
        self._history: list[float] = []
        self._fresh_from: tuple[int, float] | None = None
        self._now: Progress | None = None

    def take(self, progress: Progress) -> None:
        self._now, self._taken_at = progress, self._clock()
        if progress.best_speedup:
            self._history.append(progress.best_speedup)
        if self._fresh_from is None and not progress.replaying:
            self._fresh_from = (progress.evaluations, progress.elapsed_s)

    def render(self, *, width: int) -> RenderableType:
        """The panel on a terminal of `width` columns."""
        from rich.panel import Panel as Frame
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        now = self._now
        if now is None:
            return Text(self._title)
        bar = max(8, min(_BAR_WIDTH, width - _FRAME_WIDTH))
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", justify="right")
        facts.add_column()
        facts.add_row("best", _best_text(now))
        if len(self._history) > 1:
            facts.add_row("so far", Text(sparkline(self._history, bar), style="green"))
        facts.add_row(
            "trials",
            ProgressBar(
                total=now.budget,
                completed=now.evaluations,
                width=bar,
                complete_style="green",
                finished_style="green",
            ),
        )
        facts.add_row(
            "",
            f"{now.evaluations} of {now.budget}, {now.unique} unique, {now.failed} failed, "
            f"{now.in_flight} in flight, tree of {now.nodes}",
        )
        elapsed_s = now.elapsed_s + self._clock() - self._taken_at
        left = (
            "measuring the finalists again"
            if now.phase == "confirming"
            else self._left(now, elapsed_s)
        )
        facts.add_row("time", f"{clock(elapsed_s)} gone, {left}")
        if spent := _spent_text(now, replayed=self._replayed):
            facts.add_row("spent", Text(spent))
        if now.caps is not None and (caps := caps_text(now.caps)):
            facts.add_row("at most", Text(caps))
        facts.add_row("latest", Text(now.last, overflow="ellipsis", no_wrap=True))
        return Frame(facts, title=Text(self._title), title_align="left", border_style="green")

    def _left(self, now: Progress, elapsed_s: float) -> str:
        """From the pace of this session: what was replayed from the journal took no time."""
        first, since = self._fresh_from or (0, 0.0)
        done = now.evaluations - first
        bounds = []
        if done > 0:
            whole_s = (now.elapsed_s - since) / done * (now.budget - now.evaluations)
            bounds.append(max(0.0, whole_s - (elapsed_s - now.elapsed_s)))
        if self._minutes is not None:
            bounds.append(max(0.0, self._minutes * 60 - elapsed_s))
        return f"about {clock(min(bounds))} left" if bounds else "time left not known yet"


def _paid_text(now: Progress) -> str:
    """What the model has cost by now; empty where none is asked."""
    return cost_text(now.spending)


def _spent_text(now: Progress, *, replayed: bool) -> str:
    """All that was spent; empty where there is nothing to say yet."""
    none_yet = now.spending.gpu_s == 0
    return spending_text(now.spending, replayed=replayed or none_yet)


def _best_text(now: Progress) -> RenderableType:
    from rich.text import Text

    if now.best_speedup is None or now.best_us is None or now.baseline_us is None:
        return Text("measuring the baseline", style="dim")
    return Text.assemble(
        (f"{now.best_speedup:.2f}x", "bold green"),
        f"   {now.best_us:.1f} us, the baseline takes {now.baseline_us:.1f} us",
    )


def sparkline(values: list[float], width: int) -> str:
    """`values` as bars from the least to the greatest, thinned to `width` characters."""
    if len(values) > width:
        values = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)]
    low, high = min(values), max(values)
    span = high - low
    return "".join(_BARS[round((v - low) / span * 7) if span > 0 else 0] for v in values)


def clock(seconds: float) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 07 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
