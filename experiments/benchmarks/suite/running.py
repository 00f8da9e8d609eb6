"""The way through a suite: one problem after another on each GPU, whatever happens to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from experiments.app.refusals import check_models
from experiments.benchmarks.suite.attempting import Attempt, Trouble, attempt
from experiments.benchmarks.suite.concluding import Say
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.folder import Chosen, SuiteFolder
from experiments.benchmarks.suite.outcome import Outcome
from experiments.benchmarks.suite.processes import Problem, SearchProcesses
from experiments.benchmarks.suite.searching import begun
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.choosing import LLM
from experiments.runs.wiring.gpus import one_gpu_each
from experiments.runs.wiring.resolving import resolve
from experiments.text.quantities import clock
from mcts.errors import InputError, WorldError

MOST_ERRORS = 3
"""Problems in a row that the same trouble may cost before the suite stops; it can be gone on with.

Trouble of one problem says nothing of the next; a server that is gone would cost them all.
"""


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
        requests = {
            gpu: replace(self._request, judging=judging)
            for gpu, judging in one_gpu_each(self._request.judging).items()
        }
        missing = self._missing(problems, enough)
        if len(requests) > 1:
            with SearchProcesses(self._folder, requests, compare=self._compare) as processes:
                for problem, found in processes.run(missing):
                    self._take(problem.place, found)
            return
        (request,) = requests.values()
        for problem in missing:
            self._say(problem.place)
            found = attempt(
                self._folder, problem.chosen, problem.path, request,
                compare=self._compare, say=self._say,
            )  # fmt: skip
            self._take(problem.place, found)

    def _missing(
        self, problems: Sequence[ProblemFile], enough: Callable[[], str | None]
    ) -> Iterator[Problem]:
        """The problems without an outcome, until there is a reason to begin no further one."""
        for count, problem in enumerate(problems, start=1):
            chosen = Chosen(level=problem.level, number=problem.number, file=problem.path.name)
            place = f"[{count}/{len(problems)}] {chosen.name}"
            if self._done(problem.key):
                self._say(f"{place}: done before")
                continue
            if reason := enough():
                self._say(f"{place}: not begun: {reason}")
                return
            yield Problem(place, chosen, problem.path)

    def _done(self, key: str) -> bool:
        outcome = self._folder.outcome(key)
        return outcome is not None and outcome.final

    def _take(self, place: str, found: Attempt) -> None:
        """Keep what came of a problem. WorldError if it is the last straw."""
        if found.outcome is None:
            self._say(f"{place}: left for now, it waits for an answer")
            return
        if found.trouble is None:
            self._troubles.clear()
        else:
            self._troubles.append(found.trouble)
        self._folder.keep(found.outcome)
        self._say(f"{place}: {outcome_words(found.outcome)}")
        self._stop_if_hopeless()

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
