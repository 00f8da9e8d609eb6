"""`watch`: show a search that another process runs."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.app.interrupting import command_line, signals_interrupt
from experiments.live.board import Board
from experiments.live.watching import watch as follow
from experiments.text.nodes import fit
from experiments.text.stages import time_text

_REASON = 300


def watch(run_dir: Path, *, plain: bool) -> bool:
    """Show a run until it is over. Ctrl-C ends the watching, not the run.

    Returns False if the run ended without a reason, so crashed or was killed; otherwise True.
    """
    try:
        with signals_interrupt():
            board = follow(run_dir, stream=sys.stdout, plain=plain)
    except KeyboardInterrupt:
        print("no longer watching; the search goes on")
        return True
    print("\n".join(ending_words(board, run_dir)))
    return not board.running


def ending_words(board: Board, run_dir: Path) -> list[str]:
    """Lines that say how the run ended, what it found, and what to do next."""
    again, report = command_line("resume", run_dir), command_line("report", run_dir)
    if board.running:
        how = "nothing runs the search any more, and it gave no reason: it crashed or was killed"
    else:
        how = f"the search is over: {fit(board.reader.stop_reason, _REASON)}"
    words = [how, f"go on with: {again}"] if _unfinished(board) else [how]
    if (best := board.best) is None or (verdict := board.verdict(best)) is None:
        return words
    failed = sum(board.failures.values())
    result = (
        "the baseline is the best so far" if best == 0 else f"{verdict.speedup:.2f}x, node {best}"
    )
    stages = time_text(board.reader.stages, board.reader.seconds)
    return [
        *words,
        *([f"time went to: {stages}"] if stages else []),
        f"best: {result}; {board.told} trials, {failed} failed; to see it: {report}",
    ]


def _unfinished(board: Board) -> bool:
    reason = board.reader.stop_reason
    return board.running or reason == "interrupted" or reason.startswith("error")
