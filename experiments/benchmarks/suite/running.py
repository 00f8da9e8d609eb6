"""The way through a suite: one problem after another, whatever happens to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.app.refusals import check_models
from experiments.benchmarks.suite.concluding import Say, conclude, spent_in
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.folder import Chosen, SuiteFolder
from experiments.benchmarks.suite.outcome import Outcome, Status
from experiments.benchmarks.suite.searching import begun, search
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.choosing import LLM
from experiments.runs.wiring.resolving import resolve
from experiments.text.quantities import clock
from mcts.errors import InputError, RooftreeError, Suspended, UnfairTask, WorldError

MOST_ERRORS = 3
"""Problems in a row that the same trouble may cost before the suite stops; it can be gone on with.

Trouble of one problem says nothing of the next; a server that is gone would cost them all.
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a problem could not be searched to its end."""

    message: str
    is_world: bool

    def like(self, other: Trouble) -> bool:
        return (self.is_world and other.is_world) or self.message == other.message


class SuiteRunner:
    """Runs the problems of a suite in `folder`, each with the options of `request`.

    `compare` also measures the best candidates against torch.compile; `say` takes lines of
    progress.
    """

    def __init__(
        self, folder: SuiteFolder, request: RunRequest, *, compare: bool, say: Say
    ) -> None:
        self._folder, self._request = folder, request
        self._compare, self._say = compare, say
        self._troubles: list[Trouble] = []

    def check(self, problems: Sequence[ProblemFile]) -> None:
        """InputError for options with which none of the problems could be searched."""
        refused: list[InputError] = []
        for problem in problems:
            if self._done(problem.key):
                continue
            if begun(self._folder.run(problem.key)):
                return
            try:
                source = find_task(str(problem.path), self._request.judging.policy)
            except InputError as error:
                refused.append(error)
                continue
            config = resolve(source, self._request)
            if config.search.proposer == LLM:
                check_models(config.model)
            return
        if problems and len(refused) == len(problems):
            raise refused[0]

    def run(
        self, problems: Sequence[ProblemFile], *, enough: Callable[[], str | None] = lambda: None
    ) -> None:
        """Take each problem to its outcome, and skip those that have one.

        `enough` says why no further one is to be begun. WorldError if the same trouble has cost
        several in a row.
        """
        for count, problem in enumerate(problems, start=1):
            chosen = Chosen(level=problem.level, number=problem.number, file=problem.path.name)
            place = f"[{count}/{len(problems)}] {chosen.name}"
            if self._done(problem.key):
                self._say(f"{place}: done before")
                continue
            if reason := enough():
                self._say(f"{place}: not begun: {reason}")
                return
            self._say(place)
            outcome = self._outcome(chosen, problem.path)
            if outcome is None:
                self._say(f"{place}: left for now, it waits for an answer")
                continue
            self._folder.keep(outcome)
            self._say(f"{place}: {outcome_words(outcome)}")
            self._stop_if_hopeless()

    def _done(self, key: str) -> bool:
        outcome = self._folder.outcome(key)
        return outcome is not None and outcome.final

    def _outcome(self, chosen: Chosen, path: Path) -> Outcome | None:
        """What the problem came to; None if its search cannot go on for now."""
        try:
            search(path, self._folder.run(chosen.key), self._request)
            outcome = conclude(self._folder, chosen, compare=self._compare, say=self._say)
        except RooftreeError as error:
            if isinstance(error.__cause__ or error, Suspended):
                return None
            return self._failure(chosen, error)
        self._troubles.clear()
        return outcome

    def _failure(self, chosen: Chosen, error: RooftreeError) -> Outcome:
        """What went wrong in its own words, without the hints that `optimize` adds."""
        cause = error.__cause__ if isinstance(error.__cause__, RooftreeError) else error
        status: Status = "unfair" if isinstance(cause, UnfairTask) else "error"
        if status == "error":
            self._troubles.append(Trouble(str(cause), isinstance(cause, WorldError)))
        else:
            self._troubles.clear()
        return Outcome(
            level=chosen.level,
            number=chosen.number,
            name=chosen.name,
            status=status,
            message=str(cause),
            spent=spent_in(self._folder.run(chosen.key)),
        )

    def _stop_if_hopeless(self) -> None:
        last = self._troubles[-MOST_ERRORS:]
        if len(last) == MOST_ERRORS and all(trouble.like(last[-1]) for trouble in last):
            raise WorldError(f"{MOST_ERRORS} problems in a row came to nothing: {last[-1].message}")


def outcome_words(outcome: Outcome) -> str:
    """One line about a problem that is done."""
    if outcome.eager is None:
        words = {"unfair": "refused by the task gate", "error": "error"}.get(outcome.status)
        return f"{words or outcome.status}: {outcome.message}"
    gains = ", ".join(
        f"{gain.speedup:.2f}x ({gain.low:.2f} to {gain.high:.2f}) over {gain.over}"
        for gain in (outcome.eager, outcome.compiled)
        if gain is not None
    )
    count = outcome.spent.evaluations
    trials = f"{count} trial{'' if count == 1 else 's'}"
    return f"correct, {gains}, {trials} in {clock(outcome.spent.seconds)}"
