"""The errors for a path that is no run folder, or a run's that has lost its journal."""

from __future__ import annotations

import shlex
from pathlib import Path

from mcts.errors import InputError

DATABASE = "run.sqlite"
"""The journal's file, which makes a folder one of a run."""
CONFIG_FILE = "config.toml"
RESULTS = ("best", "report.html", "tree.svg", "tree.dot")
"""What is written once a run has stopped, and would be overwritten by the next stop."""


def not_a_run_folder(named: Path, lacks: str) -> InputError:
    """``runs is not a run folder: it has no run.sqlite; did you mean runs/gemm-3?``"""
    if lacks == DATABASE and has_results(named):
        return lost_journal(named, "is gone")
    there = "is a file" if named.exists() else "does not exist"
    what = f"has no {lacks}" if named.is_dir() else there
    similar = _similar_run(named)
    hint = f"; did you mean {shlex.quote(str(similar))}?" if similar is not None else ""
    return InputError(f"{named} is not a run folder: it {what}{hint}")


def no_journal(folder: Path, what: str) -> InputError:
    """The error for a folder whose journal's file is none, which `what` says."""
    if has_results(folder):
        return lost_journal(folder, what)
    return InputError(f"{folder} is not a run folder: {DATABASE} {what}")


def lost_journal(
    folder: Path, what: str = "is empty or gone", *, though: str = "it has results"
) -> InputError:
    """The error for a run that once had a journal; `what` says how its file is now."""
    return InputError(
        f"the journal of {folder} is lost, though {though}: {DATABASE} {what}; put a copy of it "
        "back, or start a new run"
    )


def has_results(folder: Path) -> bool:
    """Whether a run stopped in this folder, and so had a journal."""
    return (folder / CONFIG_FILE).is_file() and any((folder / name).exists() for name in RESULTS)


def _similar_run(named: Path) -> Path | None:
    """The run folder around a file of a run, the newest run in a folder, or one of ``runs/``."""
    if named.is_file():
        return named.parent if (named.parent / DATABASE).is_file() else None
    runs = Path("runs")
    for folder, pattern in ((named, "*"), (runs, named.name), (runs, f"{named.name}-*")):
        if pattern and (found := _newest(folder, f"{pattern}/{DATABASE}")):
            return found.parent
    return None


def _newest(folder: Path, pattern: str) -> Path | None:
    try:
        found = [path for path in folder.glob(pattern) if path.is_file()]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    except (OSError, ValueError):
        return None  # a name that is no pattern, or a folder that may not be read
