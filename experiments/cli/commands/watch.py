"""`watch`: a search as another process runs it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

from experiments.app.interrupting import command_line
from experiments.live.board import Board
from experiments.live.watching import watch as follow
from experiments.text.nodes import fit
from experiments.text.stages import time_text

_REASON = 300


def watch(run_dir: Path, *, plain: bool) -> bool:
    """Show a run until it is over or Ctrl-C is pressed, which ends the watching alone.

    Returns whether the run said why it stopped, or still goes on; one that did not has crashed.
    """

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        board = follow(run_dir, stream=sys.stdout, plain=plain)
    except KeyboardInterrupt:
        print("no longer watching; the search goes on")
        return True
    finally:
        signal.signal(signal.SIGTERM, before)
    print("\n".join(ending_words(board, run_dir)))
    return not board.running


def ending_words(board: Board, run_dir: Path) -> list[str]:
    """How the run ended, what it came to, and what to do next."""
    again, report = command_line("resume", run_dir), command_line("report", run_dir)
    if board.running:
        how = "it is not being searched, and did not say why it stopped: it crashed or was killed"
    else:
        how = f"the search is over: {fit(board.reader.stop_reason, _REASON)}"
    words = [how, f"go on with: {again}"] if _unfinished(board) else [how]
    if (best := board.best) is None or (verdict := board.verdict(best)) is None:
        return words
    failed = sum(board.failures.values())
    found = (
        "the baseline is the best so far" if best == 0 else f"{verdict.speedup:.2f}x, node {best}"
    )
    went = time_text(board.reader.stages)
    return [
        *words,
        *([f"time went to: {went}"] if went else []),
        f"best: {found}; {board.told} trials, {failed} failed; to see it: {report}",
    ]


def _unfinished(board: Board) -> bool:
    reason = board.reader.stop_reason
    return board.running or reason == "interrupted" or reason.startswith("error")
