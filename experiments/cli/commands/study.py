"""`study`: run the arms of a configuration on recorded tasks, over the cores."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from experiments.benchmarks.studies.config import find_study, read_study
from experiments.benchmarks.studies.folder import StudyFolder
from experiments.benchmarks.studies.running import cells_of, cores, plan_of, run_study, summary_of
from experiments.runs.wiring.composing import rooftree_version

EVERY_S = 10.0


def study(config: str, *, out: Path | None, jobs: int | None) -> None:
    """Run what is missing of a study: of a file, or of a bundled one by its name.

    Raises InputError for a configuration that cannot be run, KeyboardInterrupt with the words how
    to go on where it was stopped.
    """
    asked = read_study(find_study(config))
    folder = StudyFolder(out or Path("studies") / asked.name)
    plan = plan_of(asked, version=rooftree_version())
    jobs = min(jobs or cores(), len(plan.keys))
    again = f"rooftree study {shlex.quote(config)}"
    if out is not None:
        again += f" -o {shlex.quote(str(out))}"
    with folder.held(), _terminable():
        folder.write_plan(plan)
        for facts in plan.tasks:
            _say(summary_of(facts))
        _say(
            f"{len(cells_of(plan))} runs: {len(asked.arms)} arms x {len(plan.tasks)} tasks x "
            f"{asked.seeds} seeds, {jobs} at a time, folder {folder.path}"
        )
        try:
            with _progress(asked.name) as show:
                count = run_study(plan, folder, jobs=jobs, show=show)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted, what was run is kept; go on with: {again}"
            ) from None
    left = len(plan.keys) - count
    _say(f"{count} runs done" + (f", {left} were there" if left else ""))
    print(f"compare with: rooftree compare {shlex.quote(str(folder.path))}")


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a study as Ctrl-C does."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, a line every few seconds elsewhere; both on standard error."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"study {name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    """How far a study is, for logs."""

    def __init__(self, name: str) -> None:
        self._name, self._last = name, time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY_S or done == total:
            self._last = now
            _say(f"study {self._name}: {done}/{total} runs")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
