"""`record`: a task's whole tunable space, measured for replay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.app.messages import say
from experiments.runs.folders.partial_recording import PartialRecording
from experiments.runs.options import names
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring import composing
from experiments.runs.wiring.choosing import REPLAY
from mcts.errors import InputError
from mcts.options import JudgingOptions

if TYPE_CHECKING:
    from profilers.recordings.recorder import Progress

INTERVAL_S = 2.0


def record(
    task: str,
    *,
    out: Path | None,
    limit: int | None,
    parallel: int,
    judging: JudgingOptions,
    profile: bool,
) -> None:
    """Measure a task's tunable space into a T4 file; a stopped recording is continued.

    `parallel` is how many candidates each GPU has in hand. Raises InputError if the task has no
    tunables, or if the file cannot be written where it should.
    """
    from profilers.recordings.recorder import record as measure
    from profilers.recordings.t4 import write_recording

    source = find_task(task)
    if source.task.dialect.in_pytorch:
        raise InputError("recordings are of tunables; a PyTorch candidate has none")
    target = out or Path(f"{source.task.name}.json.gz")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is not a folder: make it, or choose another --out")
    if names.split(judging.evaluator)[0] == REPLAY:
        raise InputError("--evaluator replay measures nothing that could be recorded")
    judge = composing.choose_evaluator(source, judging, on_progress=say)
    with closing(judge), PartialRecording(target, source.task, str(judge.hardware)) as spool:
        taken = f", {len(spool.done)} configurations taken from {spool.path}" if spool.done else ""
        say(f"recording task {source.task.name} on {judge.hardware}{taken}")
        recording = measure(
            source.task,
            judge,
            limit=limit,
            parallel=parallel * judge.devices,
            profile=profile,
            on_progress=ProgressLines(),
            on_result=spool.keep,
            done=spool.done,
        )
        write_recording(target, recording)
        spool.discard()
    summary = recording.summary()
    gain = f", best {summary.best_speedup:.2f}x" if summary.best_speedup else ""
    failed = sum(summary.failed.values())
    print(f"{target}: {summary.valid} valid and {failed} failed variants{gain}, {judge.hardware}")


class ProgressLines:
    """A line every few seconds, and one at the end of each stage."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -math.inf

    def __call__(self, progress: Progress) -> None:
        now = self._clock()
        if now - self._last < INTERVAL_S and progress.done < progress.total:
            return
        self._last = now
        failed = f", {progress.failed} failed" if progress.failed else ""
        say(f"{progress.stage} {progress.done}/{progress.total}{failed}")
