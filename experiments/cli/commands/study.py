"""`study`: run the arms of a configuration on recorded tasks, in parallel on the cores."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say
from experiments.benchmarks.model_studies.config import MODEL_SEARCHES, read_model_study
from experiments.benchmarks.one_step.config import ONE_STEP, read_one_step
from experiments.benchmarks.studies.config import (
    SEARCH,
    Study,
    find_study,
    read_study,
    read_table,
)
from experiments.benchmarks.studies.folder import StudyFolder, study_kind
from experiments.benchmarks.studies.kinds import KINDS
from experiments.benchmarks.studies.running import cells_of, cores, plan_of, run_study
from experiments.cli.commands import model_study, one_step
from experiments.runs.wiring.resolving import rooftree_version
from mcts.errors import InputError
from mcts.options import JudgingOptions, ModelOptions

EVERY_S = 10.0


def study(
    config: str,
    *,
    out: Path | None,
    jobs: int | None,
    model: ModelOptions,
    judging: JudgingOptions,
    reuse: Sequence[Path] = (),
    replay: bool = False,
) -> None:
    """Run what is missing of a study; `config` is a file, or the name of a bundled study. With
    `replay` it is the folder of a study with a model. `reuse` are folders of others.

    Raises InputError if the configuration cannot be run. If interrupted, raises KeyboardInterrupt
    with a message that says how to continue.
    """
    if replay:
        if reuse:
            raise InputError("--replay takes steps from the study's own folder: leave --reuse out")
        _replay(Path(config))
        return
    path = find_study(config)
    table = read_table(path)
    if table.get("kind") == ONE_STEP:
        one_step.run(
            read_one_step(table, path),
            config=config, out=out, jobs=jobs, model=model, judging=judging, reuse=reuse,
            progress=_progress,
        )  # fmt: skip
        return
    if table.get("kind") == MODEL_SEARCHES:
        model_study.run(
            read_model_study(table, path),
            config=config, out=out, jobs=jobs, model=model, judging=judging, reuse=reuse,
            progress=_progress,
        )  # fmt: skip
        return
    known = (*KINDS, ONE_STEP, MODEL_SEARCHES)
    if table.get("kind", SEARCH) not in known:
        raise InputError(f"{path}: kind = {table['kind']!r}: one of {', '.join(known)}")
    if given := [*model.given(), *judging.given(), *(["--reuse"] if reuse else [])]:
        raise InputError(f"a study of recordings asks no model and measures nothing: {given[0]}")
    _search(read_study(path), config=config, out=out, jobs=jobs)


def _replay(folder: Path) -> None:
    """Take a folder's study again from what it holds."""
    replays = {ONE_STEP: one_step.replay, MODEL_SEARCHES: model_study.replay}
    kind = study_kind(folder)
    if kind not in replays:
        raise InputError(f"{folder} is not the folder of a study with a model")
    replays[kind](folder)


def _search(asked: Study, *, config: str, out: Path | None, jobs: int | None) -> None:
    """Run the missing runs of a study on recordings."""
    folder = StudyFolder(out or Path("studies") / asked.name)
    plan = plan_of(asked, version=rooftree_version())
    jobs = min(jobs or cores(), len(plan.keys))
    again = f"rooftree study {shlex.quote(config)}"
    if out is not None:
        again += f" -o {shlex.quote(str(out))}"
    with folder.held(), signals_interrupt():
        folder.write_plan(plan)
        for facts in plan.tasks:
            say(KINDS[asked.kind].summary(facts))
        say(
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
    say(f"{count} runs done" + (f", {left} were done before" if left else ""))
    print(f"compare with: rooftree compare {shlex.quote(str(folder.path))}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal, otherwise a line every few seconds; both on standard error."""
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
    """Prints the progress of a study as lines, for logs."""

    def __init__(self, name: str) -> None:
        self._name, self._last = name, time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY_S or done == total:
            self._last = now
            say(f"study {self._name}: {done}/{total} runs")
