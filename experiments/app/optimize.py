"""`optimize` and `resume`: start one search, or continue it where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.app import attributing
from experiments.app.concluding import conclude
from experiments.app.interrupting import (
    Interrupted,
    command_line,
    interruptible,
    signals_interrupt,
)
from experiments.app.messages import say
from experiments.app.refusals import check_models, check_values_alone, remedy
from experiments.live import Display, progress_display
from experiments.runs.folders import folder as rundir
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.folders.recovering import rescued
from experiments.runs.memory.applying import proposer_label, remember
from experiments.runs.options.config import RunConfig
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring import composing
from experiments.runs.wiring.begun_hardware import as_begun
from experiments.runs.wiring.choosing import LLM, REPLAY
from experiments.runs.wiring.resolving import resolve, stopping_early, widened
from experiments.views import summary
from experiments.views.closing import closing_words
from mcts.errors import InputError, JournalError, RooftreeError, WorldError
from mcts.journal.record import Result, read_result
from mcts.loop.progress import Progress
from mcts.options import JudgingOptions, Limits, ModelOptions
from mcts.ports import Evaluator


class HopelessRun(InputError):
    """The run failed before its baseline was measured: there is nothing to resume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that stopped, and what it left in its folder."""

    folder: RunFolder
    facts: summary.RunFacts
    result: Result
    outputs: summary.Outputs


def optimize(request: RunRequest, *, attribute: bool = False, display: Display = "auto") -> None:
    """Start a run, and write and print its results; if it is interrupted, those so far."""
    with _printing_what_is_left(as_json=request.as_json):
        done = run_in_folder(request, attribute=attribute, display=display)
    _print(done, as_json=request.as_json)


def run_in_folder(
    request: RunRequest,
    *,
    attribute: bool = False,
    display: Display = "auto",
    on_progress: Callable[[Progress], None] | None = None,
) -> Finished:
    """Start a run, and write its results into its folder.

    The folder is created after the evaluator, and removed if the baseline cannot be measured: a run
    that never began leaves nothing behind. With `attribute` the methods on the path to the best are
    attributed at the end. `on_progress` is told of each step beside the display.
    """
    source = find_task(
        request.task,
        request.judging.policy,
        request.judging.dialect,
        request.judging.kernel,
    )
    config = stopping_early(resolve(source, request))
    if request.out is not None:
        rundir.check_free(request.out)
    if config.search.proposer == LLM:
        check_values_alone(source.task, config)
        check_models(config.model)
    if config.judging.evaluator != REPLAY and display != "quiet":
        say(f"preparing evaluator {config.judging.evaluator} for task {source.task.name}")
    if display != "quiet":
        for note in composing.unusable_tools():
            say(note)
    with (
        signals_interrupt(),
        closing(composing.evaluator_of(source, config, on_progress=say)) as evaluator,
    ):
        asked = request.search.memory is not None
        config, known = remember(config, gpu=evaluator.hardware.name, asked=asked)
        folder = rundir.create(source, config, knowledge=known, out=request.out)
        config = folder.config
        try:
            with SqliteJournal(folder.journal) as journal:
                return _searched(
                    folder, source, config, evaluator, journal,
                    attribute=attribute, display=display, on_progress=on_progress,
                )  # fmt: skip
        except HopelessRun:
            folder.discard()
            raise


def resume(
    run_dir: Path,
    *,
    limits: Limits | None = None,
    model: ModelOptions | None = None,
    judging: JudgingOptions | None = None,
    as_json: bool,
    display: Display = "auto",
) -> None:
    """Continue a run, and write and print its results; if it is interrupted, those so far."""
    with _printing_what_is_left(as_json=as_json):
        done = resume_in_folder(
            run_dir, limits=limits, model=model, judging=judging, display=display
        )
    _print(done, as_json=as_json)


def resume_in_folder(
    run_dir: Path,
    *,
    limits: Limits | None = None,
    model: ModelOptions | None = None,
    judging: JudgingOptions | None = None,
    display: Display = "auto",
    on_progress: Callable[[Progress], None] | None = None,
) -> Finished:
    """Continue a run. Given `limits`, model prices and devices replace those it began with.

    InputError if the run has results but no journal: a new start would overwrite them.
    """
    folder = RunFolder(run_dir)
    config = folder.config
    folder.check_journal()
    with SqliteJournal(folder.journal) as journal:
        source = folder.task(config)
        if limits is not None:
            _check_more(journal, limits.given().get("evaluations"))
        config = widened(config, limits=limits, model=model, judging=judging)
        with (
            signals_interrupt(),
            closing(composing.evaluator_of(source, config, on_progress=say)) as evaluator,
        ):
            folder.write_config(config)
            return _searched(
                folder, source, config, evaluator, journal,
                display=display, on_progress=on_progress,
            )  # fmt: skip


def _check_more(journal: SqliteJournal, evaluations: int | None) -> None:
    """Raise InputError for fewer evaluations than the run has had."""
    if evaluations is None:
        return
    try:
        had = read_result(tuple(journal.events())).evaluations
    except JournalError:  # not even the baseline was measured
        return
    if evaluations < had:
        raise InputError(
            f"--evaluations {evaluations}: the run has had {had} already; give as many or more"
        )


class Stopped(Interrupted):
    """The run was stopped from outside; `left` is what it has come to, with its files written."""

    def __init__(self, interrupted: Interrupted, left: Finished) -> None:
        KeyboardInterrupt.__init__(self, *interrupted.args)
        self.left = left


@contextmanager
def _printing_what_is_left(*, as_json: bool) -> Iterator[None]:
    """Print the results so far of a run that is stopped within the block."""
    try:
        yield
    except Stopped as stopped:
        _print(stopped.left, as_json=as_json)
        raise


def _left(folder: RunFolder, journal: SqliteJournal) -> Finished | None:
    """What a stopped run has come to, written into its folder; None before its baseline, or where
    it cannot be written: the journal has it all the same.
    """
    try:
        events = tuple(journal.events())
        facts, result = summary.facts_of(events), summary.result_of(events)
        outputs = summary.write_outputs(folder.path, facts, result, events=events)
    except (RooftreeError, OSError):
        return None
    return Finished(folder=folder, facts=facts, result=result, outputs=outputs)


def _print(run: Finished, *, as_json: bool) -> None:
    path = run.folder.path
    if as_json:
        print(json.dumps(summary.as_json(run.facts, run.result, path), ensure_ascii=False))
    else:
        print("\n".join(closing_words(run.facts, run.result, run.outputs, path)))


def _searched(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
    *,
    attribute: bool = False,
    display: Display,
    on_progress: Callable[[Progress], None] | None,
) -> Finished:
    """Search, attribute if asked, and write the results.

    Raises JournalLost, without a result, if the journal was deleted meanwhile.
    """
    with rescued(journal, folder.path):
        try:
            return _concluded(
                folder, source, config, evaluator, journal,
                attribute=attribute, display=display, on_progress=on_progress,
            )  # fmt: skip
        except Interrupted as interrupted:
            left = _left(folder, journal)
            raise interrupted if left is None else Stopped(interrupted, left) from None


def _concluded(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
    *,
    attribute: bool,
    display: Display,
    on_progress: Callable[[Progress], None] | None,
) -> Finished:
    evaluator = as_begun(evaluator, journal.events())
    title = f"{source.task.name} on {evaluator.hardware}"
    with interruptible(command_line("resume", folder.path)):
        if display != "quiet":
            say(
                f"task {source.task.name}, evaluator {evaluator.name}, "
                f"proposer {proposer_label(config)}"
                f"{f', library {config.library.title}' if config.library else ''}"
                f", hardware {evaluator.hardware}, "
                f"run folder {folder.path}"
            )
        with progress_display(
            title=title,
            minutes=config.limits.minutes,
            replayed=config.judging.evaluator == REPLAY,
            run_dir=folder.path,
            display=display,
        ) as show:
            both = show if on_progress is None else _each(show, on_progress)
            result = _search(folder, source, config, evaluator, journal, both)
    if attribute:
        with interruptible(command_line("attribute", folder.path)):
            result = _attribute(folder, source, config, evaluator, journal)
    again = "report" if config.memory is None else "resume"  # which teaches the memory too
    with interruptible(command_line(again, folder.path)):
        facts, outputs = conclude(folder, config, result, journal, gpu=evaluator.hardware.name)
    return Finished(folder=folder, facts=facts, result=result, outputs=outputs)


def _each(*shown: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def show(progress: Progress) -> None:
        for one in shown:
            one(progress)

    return show


def _search(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
    show: Callable[[Progress], None],
) -> Result:
    """Run the search. Its errors say how to go on; HopelessRun if it has no baseline yet."""
    again = command_line("resume", folder.path)
    try:
        optimizer = composing.build_optimizer(
            source,
            config,
            evaluator=evaluator,
            journal=journal,
            run_dir=folder.path,
            on_progress=show,
        )
        with composing.released(optimizer.proposer):
            return optimizer.run()
    except JournalError:
        raise
    except WorldError as error:
        raise WorldError(f"{error}; {remedy(error, config, again=again)}") from error
    except InputError as error:
        if any(event.kind == "told" for event in journal.events()):
            raise InputError(f"{error}; {remedy(error, config, again=again)}") from error
        raise HopelessRun(str(error)) from error


def _attribute(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
) -> Result:
    """Attribute the methods of the run. If that fails, say so: the run keeps its result."""
    try:
        return attributing.weigh_methods(
            source, config, evaluator=evaluator, journal=journal, run_dir=folder.path, say=say
        ).result
    except JournalError:
        raise
    except (InputError, WorldError) as error:
        again = command_line("attribute", folder.path)
        say(f"not all methods were weighed: {error}; go on with: {again}")
        return read_result(journal.events())
