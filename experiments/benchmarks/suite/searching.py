"""The search for one problem of a suite: started, resumed, or found finished."""

from __future__ import annotations

import io
import os
import shutil
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from experiments.app import optimize as run
from experiments.app.messages import say
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, is_begun, read_events
from experiments.runs.folders.journal_file import lock
from experiments.runs.options.config import CONFIG_FILE
from experiments.runs.options.request import RunRequest
from mcts.errors import InputError, RooftreeError

REPORT = "report.html"
"""The last of a run's results that is written."""
LEAVING_S = 60.0
"""For how long a search may put its things in order after it was told to end."""
_POLL_S = 0.2
_UNFINISHED = ("interrupted", "error:")


def search(problem: Path, run_dir: Path, request: RunRequest) -> None:
    """Bring the search in `run_dir` to its end, from wherever it is.

    What `rooftree optimize` and `resume` do, without their closing words. A folder that was left
    before its configuration was written is made anew. Raises what they raise.
    """
    if begun(run_dir):
        _wait_for_its_process(run_dir)
        _take_options(RunFolder(run_dir), request)
    ended = finished(run_dir)
    if ended and (run_dir / REPORT).is_file():
        return
    with redirect_stdout(io.StringIO()):
        if ended:
            _write_results(run_dir)
        elif begun(run_dir):
            run.resume(run_dir, as_json=False)
        else:
            shutil.rmtree(run_dir, ignore_errors=True)
            run_dir.parent.mkdir(parents=True, exist_ok=True)
            run.optimize(replace(request, task=str(problem), out=run_dir, as_json=False))


def _write_results(run_dir: Path) -> None:
    """Teach the memory and write the results of a run that was killed before it did. Its outcome
    needs neither.
    """
    try:
        run.resume(run_dir, as_json=False)
    except RooftreeError as error:
        say(f"{run_dir} has ended, its results are not written: {error}")


def _take_options(folder: RunFolder, request: RunRequest) -> None:
    """Have the next session go by what was asked now, as far as that may change within a search."""
    config = folder.config
    update = {
        "judging": config.judging.going_on_with(request.judging),
        "model": config.model.going_on_with(request.model),
    }
    folder.write_config(config.model_copy(update=update))


def _wait_for_its_process(run_dir: Path) -> None:
    """Let a search that outlives its suite, which was killed, put its things in order."""
    ends, told = time.monotonic() + LEAVING_S, False
    while time.monotonic() < ends:
        try:
            os.close(lock(run_dir))
        except InputError:
            if not told:
                say(f"waiting for the search in {run_dir} to stop")
            told = True
            time.sleep(_POLL_S)
        else:
            return


def begun(run_dir: Path) -> bool:
    """Whether there is a run that can be resumed or is finished."""
    return (run_dir / CONFIG_FILE).is_file()


def finished(run_dir: Path) -> bool:
    """Whether the run ended of itself: its budget was spent, or nothing was left to try."""
    if not begun(run_dir) or not is_begun(run_dir / DATABASE):
        return False
    reason: str | None = None
    for event in read_events(run_dir):
        if event.kind == "stopped":
            reason = str(event.payload.get("reason", ""))
        elif event.kind == "resumed":
            reason = None
    return reason is not None and not reason.startswith(_UNFINISHED)
