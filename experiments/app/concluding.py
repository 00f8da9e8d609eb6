"""What follows when a run has stopped: the memory learns from it, its results are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.app.interrupting import command_line
from experiments.app.messages import say
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.memory.applying import learn
from experiments.runs.options.config import RunConfig
from experiments.views import summary
from mcts.errors import InputError, WorldError
from mcts.journal.record import Result
from mcts.ports import Event


def conclude(
    folder: RunFolder, config: RunConfig, result: Result, journal: SqliteJournal, *, gpu: str
) -> tuple[summary.RunFacts, summary.Outputs]:
    """Add the run to the memory and write its results.

    InputError if they cannot be written, JournalLost if the journal is no longer in its folder.
    """
    events = tuple(journal.events())
    facts = summary.facts_of(events)
    journal.check_place()
    _learn(folder, config, result, events, gpu=gpu)
    outputs = _write_outputs(folder.path, facts, result, journal, events)
    journal.check_place()
    return facts, outputs


def _learn(
    folder: RunFolder, config: RunConfig, result: Result, events: Sequence[Event], *, gpu: str
) -> None:
    """Add the run to the memory. If that fails, say so: the run keeps its result."""
    try:
        task = folder.task(config).task
        learn(config, result, events, gpu=gpu, task=task, run_dir=folder.path)
    except (InputError, WorldError) as error:
        say(f"nothing was remembered: {error}")


def _write_outputs(
    run_dir: Path,
    facts: summary.RunFacts,
    result: Result,
    journal: SqliteJournal,
    events: Sequence[Event],
) -> summary.Outputs:
    try:
        return summary.write_outputs(run_dir, facts, result, events=events)
    except OSError as error:
        journal.check_place()
        raise InputError(
            f"the run is whole, but {error.filename or run_dir} cannot be written: "
            f"{error.strerror}; mend that, then: {command_line('report', run_dir)}"
        ) from error
