"""`optimize` and `resume`: one search, from its start or from where it stopped."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from experiments import rundir, summary, wiring
from experiments.config import RunConfig
from experiments.journal import SqliteJournal
from experiments.live import progress_display
from experiments.request import RunRequest
from experiments.rundir import RunFolder
from experiments.taskfiles import TaskSource, find_task
from mcts.errors import InputError, JournalError, WorldError
from mcts.ports import Evaluator
from mcts.progress import Progress
from mcts.record import Result


class Interrupted(KeyboardInterrupt):
    """The run was stopped from outside; its journal is whole."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(
            f"interrupted, nothing is lost; resume with: {_command('resume', run_dir)}"
        )


class HopelessRun(InputError):
    """The run came to nothing before its baseline was taken: there is nothing to go on from."""


def optimize(request: RunRequest) -> None:
    """Start a run. The evaluator is built first, so that nothing is left behind if it cannot be.

    Nor is a run folder left of a run that could not take its first step.
    """
    source = find_task(request.task, request.measuring.policy)
    config = wiring.resolve(source, request)
    if request.out is not None:
        rundir.check_free(request.out)
    if config.evaluator != wiring.REPLAY:
        _say(f"preparing evaluator {config.evaluator} for task {source.task.name}")
    with closing(wiring.evaluator_of(source, config, on_progress=_say)) as evaluator:
        config = wiring.remember(config, gpu=evaluator.hardware.name)
        folder = rundir.create(source, config, out=request.out)
        try:
            with SqliteJournal(folder.journal) as journal:
                _run(folder, source, config, evaluator, journal, as_json=request.as_json)
        except HopelessRun:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise


def resume(
    run_dir: Path,
    *,
    evaluations: int | None = None,
    minutes: float | None = None,
    max_cost_usd: float | None = None,
    max_tokens: int | None = None,
    max_gpu_minutes: float | None = None,
    prices: Sequence[str] = (),
    as_json: bool,
) -> None:
    """Go on with a run; limits that are given stand in place of those it began with."""
    folder = RunFolder(run_dir)
    config = folder.config
    with SqliteJournal(folder.journal) as journal:
        source = folder.task(config)
        config = wiring.widened(
            config,
            evaluations=evaluations,
            minutes=minutes,
            max_cost_usd=max_cost_usd,
            max_tokens=max_tokens,
            max_gpu_minutes=max_gpu_minutes,
            prices=prices,
        )
        with closing(wiring.evaluator_of(source, config, on_progress=_say)) as evaluator:
            folder.write_config(config)
            _run(folder, source, config, evaluator, journal, as_json=as_json)


def _run(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
    *,
    as_json: bool,
) -> None:
    title = f"{source.task.name} on {evaluator.hardware}"
    with _interruptible(folder.path):
        _say(
            f"task {source.task.name}, evaluator {evaluator.name}, proposer {config.proposer}"
            f"{f' ({config.model})' if config.model else ''}, hardware {evaluator.hardware}, "
            f"run folder {folder.path}"
        )
        with progress_display(title=title, minutes=config.minutes) as show:
            result = _search(folder, source, config, evaluator, journal, show)
        facts = summary.facts_of(journal.events())
        _learn(config, result, gpu=evaluator.hardware.name)
        outputs = _write_outputs(folder.path, facts, result)
    if as_json:
        print(json.dumps(summary.as_json(facts, result, folder.path), ensure_ascii=False))
    else:
        print("\n".join(summary.closing_words(facts, result, outputs, folder.path)))


def _search(
    folder: RunFolder,
    source: TaskSource,
    config: RunConfig,
    evaluator: Evaluator,
    journal: SqliteJournal,
    show: Callable[[Progress], None],
) -> Result:
    again = _command("resume", folder.path)
    try:
        optimizer = wiring.build_optimizer(
            source,
            config,
            evaluator=evaluator,
            journal=journal,
            run_dir=folder.path,
            on_progress=show,
        )
        with wiring.released(optimizer):
            return optimizer.run()
    except JournalError:
        raise
    except WorldError as error:
        raise WorldError(f"{error}; resume with: {again}") from error
    except InputError as error:
        if any(event.kind == "told" for event in journal.events()):
            raise InputError(f"{error}; mend that, then resume with: {again}") from error
        raise HopelessRun(str(error)) from error


def _learn(config: RunConfig, result: Result, *, gpu: str) -> None:
    """A memory that cannot be written must not cost the run its result."""
    try:
        wiring.learn(config, result, gpu=gpu)
    except (InputError, WorldError) as error:
        _say(f"nothing was remembered: {error}")


def _write_outputs(run_dir: Path, facts: summary.RunFacts, result: Result) -> summary.Outputs:
    try:
        return summary.write_outputs(run_dir, facts, result)
    except OSError as error:
        raise InputError(
            f"the run is whole, but {error.filename or run_dir} cannot be written: "
            f"{error.strerror}; mend that, then: {_command('report', run_dir)}"
        ) from error


@contextmanager
def _interruptible(run_dir: Path) -> Iterator[None]:
    """Ctrl-C and SIGTERM alike end in `Interrupted`: the run is journalled and resumable."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(run_dir) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _command(name: str, run_dir: Path) -> str:
    """A command line that can be copied as it stands."""
    return f"rooftree {name} {shlex.quote(str(run_dir))}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
