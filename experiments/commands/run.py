"""`optimize` and `resume`: one search, from its start or from where it stopped."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from experiments import rundir, summary, wiring
from experiments.config import RunConfig
from experiments.journal import SqliteJournal
from experiments.live import progress_display
from experiments.rundir import RunFolder
from experiments.taskfiles import TaskSource, find_task
from mcts.errors import InputError, JournalError, WorldError
from mcts.ports import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of `optimize`, `auto` not yet decided."""

    task: str
    evaluator: str = wiring.AUTO
    proposer: str = wiring.AUTO
    recording: Path | None = None
    model: str | None = None
    api_base: str | None = None
    evaluations: int = 60
    minutes: float | None = None
    seed: int = 0
    parallel: int = 1
    device: int = 0
    search_settings: dict[str, int | float] = field(default_factory=dict)
    out: Path | None = None
    as_json: bool = False


class Interrupted(KeyboardInterrupt):
    """The run was stopped from outside; its journal is whole."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"interrupted, nothing is lost; resume with: rooftree resume {run_dir}")


def optimize(request: RunRequest) -> None:
    """Start a run. The evaluator is built first, so that nothing is left behind if it cannot be."""
    source = find_task(request.task)
    config = wiring.resolve(
        source,
        evaluator=request.evaluator,
        proposer=request.proposer,
        recording=request.recording,
        model=request.model,
        api_base=request.api_base,
        evaluations=request.evaluations,
        minutes=request.minutes,
        seed=request.seed,
        parallel=request.parallel,
        device=request.device,
        search_settings=request.search_settings,
    )
    wiring.resolve_settings(config.search, config.search_settings)
    if request.out is not None:
        rundir.check_free(request.out)
    if config.evaluator != wiring.REPLAY:
        _say(f"preparing evaluator {config.evaluator} for task {source.task.name}")
    with closing(wiring.evaluator_of(source, config, on_progress=_say)) as evaluator:
        folder = rundir.create(source, config, out=request.out)
        with SqliteJournal(folder.journal) as journal:
            _run(folder, source, config, evaluator, journal, as_json=request.as_json)


def resume(run_dir: Path, *, evaluations: int | None, minutes: float | None, as_json: bool) -> None:
    """Go on with a run; `evaluations` and `minutes` may raise its budget."""
    folder = RunFolder(run_dir)
    config = folder.config
    with SqliteJournal(folder.journal) as journal:
        source = folder.task(config)
        wider = {"evaluations": evaluations, "minutes": minutes}
        config = config.model_copy(update={k: v for k, v in wider.items() if v is not None})
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
    _say(
        f"task {source.task.name}, evaluator {evaluator.name}, proposer {config.proposer}"
        f"{f' ({config.model})' if config.model else ''}, hardware {evaluator.hardware}, "
        f"run folder {folder.path}"
    )
    try:
        with _terminable(), progress_display(title=title, minutes=config.minutes) as show:
            result = wiring.build_optimizer(
                source, config, evaluator=evaluator, journal=journal, on_progress=show
            ).run()
        facts = summary.facts_of(journal.events())
    except KeyboardInterrupt:
        raise Interrupted(folder.path) from None
    except JournalError:
        raise
    except WorldError as error:
        raise WorldError(f"{error}; resume with: rooftree resume {folder.path}") from error
    outputs = summary.write_outputs(folder.path, facts, result)
    if as_json:
        print(json.dumps(summary.as_json(facts, result, folder.path), ensure_ascii=False))
    else:
        print("\n".join(summary.closing_words(facts, result, outputs, folder.path)))


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: journalled and resumable."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def parse_settings(pairs: list[str]) -> dict[str, int | float]:
    """``NAME=NUMBER`` options as a table. InputError for one that is not."""
    settings: dict[str, int | float] = {}
    for pair in pairs:
        name, found, text = pair.partition("=")
        try:
            value: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise InputError(f"--search {pair!r}: write NAME=NUMBER") from None
        if not found or not name:
            raise InputError(f"--search {pair!r}: write NAME=NUMBER")
        settings[name] = value
    return settings


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
