"""One problem of a suite, from wherever it is to its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.benchmarks.suite.concluding import Say, conclude, spent_in
from experiments.benchmarks.suite.folder import Chosen, SuiteFolder
from experiments.benchmarks.suite.outcome import Outcome, Status
from experiments.benchmarks.suite.searching import search
from experiments.runs.options.request import RunRequest
from mcts.errors import RooftreeError, Suspended, UnfairTask, WorldError


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a problem could not be searched to its end."""

    message: str
    is_world: bool

    def like(self, other: Trouble) -> bool:
        return (self.is_world and other.is_world) or self.message == other.message


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a problem: no outcome if its search cannot go on for now."""

    outcome: Outcome | None
    trouble: Trouble | None = None


def attempt(
    folder: SuiteFolder,
    chosen: Chosen,
    path: Path,
    request: RunRequest,
    *,
    compare: bool,
    say: Say,
) -> Attempt:
    """Search the problem in the file `path` with the options of `request`, and conclude it."""
    try:
        search(path, folder.run(chosen.key), request)
        return Attempt(conclude(folder, chosen, compare=compare, say=say))
    except RooftreeError as error:
        if isinstance(error.__cause__ or error, Suspended):
            return Attempt(None)
        return failed(folder, chosen, error)


def failed(folder: SuiteFolder, chosen: Chosen, error: RooftreeError) -> Attempt:
    """What went wrong in its own words, without the hints that `optimize` adds."""
    cause = error.__cause__ if isinstance(error.__cause__, RooftreeError) else error
    status: Status = "unfair" if isinstance(cause, UnfairTask) else "error"
    trouble = Trouble(str(cause), isinstance(cause, WorldError)) if status == "error" else None
    outcome = Outcome(
        level=chosen.level,
        number=chosen.number,
        name=chosen.name,
        status=status,
        message=str(cause),
        spent=spent_in(folder.run(chosen.key)),
    )
    return Attempt(outcome, trouble)
