"""The runs below a folder, each as one line, followed as they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.live.watching import Watcher
from experiments.runs.folders.journal import DATABASE
from experiments.text.spending import cost_text
from mcts.errors import InputError, JournalError

State = Literal["running", "finished", "interrupted", "stopped", "crashed", "not begun", "damaged"]
DEPTH = 4
"""Folders below the first one in which runs are looked for."""
_LINKS = 10_000
"""Folders that are looked at: a home directory given by mistake ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """Where a run stands. `folder` is as it was found; `reason` says why it stopped, or what is
    wrong with it. `changed_at` is in seconds since the epoch, 0 before anything happened.
    """

    folder: Path
    state: State
    reason: str = ""
    title: str = ""
    trials: int = 0
    budget: int = 0
    failed: int = 0
    best_us: float | None = None
    speedup: float | None = None
    cost: str = ""
    elapsed_s: float = 0.0
    changed_at: float = 0.0


class Overview:
    """The runs below `root`; looking again reads only what is new. Not thread-safe."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        """InputError if `root` is no folder."""
        if not root.is_dir():
            what = "is not a folder" if root.exists() else "does not exist"
            raise InputError(f"{root} {what}: name a folder with runs in it")
        self.root, self._clock = root, clock
        self._watchers: dict[Path, Watcher] = {}

    def lines(self) -> list[RunLine]:
        """A line for each run, the latest changed first."""
        found = [self._line(folder) for folder in run_folders(self.root)]
        return sorted(found, key=lambda line: (-line.changed_at, str(line.folder)))

    def _line(self, folder: Path) -> RunLine:
        try:
            watcher = self._watchers.get(folder)
            if watcher is None:
                watcher = self._watchers[folder] = Watcher(folder, clock=self._clock)
            return _line_of(folder, watcher)
        except (InputError, JournalError) as error:
            self._watchers.pop(folder, None)
            return RunLine(folder=folder, state="damaged", reason=str(error))


def run_folders(root: Path) -> Iterator[Path]:
    """The folders that hold a run, `root` itself among them; nothing below a run, and no links."""
    level, seen = [root], 0
    for _ in range(DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            seen += 1
            if seen > _LINKS:
                return
            if (folder / DATABASE).is_file():
                yield folder
                continue
            try:
                inside = sorted(folder.iterdir())
            except OSError:
                continue
            below += [one for one in inside if one.is_dir() and not one.is_symlink()]
        level = below


def _line_of(folder: Path, watcher: Watcher) -> RunLine:
    progress = watcher.catch_up()
    board = watcher.board
    state, reason = _state(watcher)
    return RunLine(
        folder=folder,
        state=state,
        reason=reason,
        title=board.title,
        trials=progress.evaluations,
        budget=progress.budget,
        failed=progress.failed,
        best_us=progress.best_us,
        speedup=progress.best_speedup,
        cost=cost_text(progress.spending),
        elapsed_s=progress.elapsed_s,
        changed_at=board.last_event_at,
    )


def _state(watcher: Watcher) -> tuple[State, str]:
    board = watcher.board
    written = watcher.is_written()
    if written or (written is None and board.running):
        return "running", ""
    if not board.events:
        return "not begun", ""
    if board.running:
        return "crashed", "it gave no reason: it crashed or was killed"
    reason = board.reader.stop_reason
    if reason.startswith("error"):
        return "stopped", reason.removeprefix("error: ")
    return ("interrupted" if reason == "interrupted" else "finished"), reason
