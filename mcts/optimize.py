"""The loop: ask, propose, evaluate, advise, tell, through ports alone."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from mcts.domain import Evaluation, Guidance, KernelTask
from mcts.errors import InputError, JournalError, NoMoves, WorldError
from mcts.finalists import confirm_finalists
from mcts.ledger import Ledger
from mcts.memory import RunMemory, state_of
from mcts.objective import OBJECTIVES, Objective, Ranking
from mcts.ports import (
    Advisor,
    EnergyMeter,
    Evaluator,
    Journal,
    Proposal,
    ProposalRequest,
    Proposer,
)
from mcts.progress import Budget, Phase, Progress, describe, progress_of
from mcts.record import Result, read_result
from mcts.reward import RewardScale
from mcts.runlog import RunLog
from mcts.search import Search
from mcts.settings import SearchSettings
from mcts.trial import Outcome, Trial
from mcts.world import Answer, World

__all__ = ["Budget", "Optimizer", "Progress", "Result", "read_result"]

MAX_WORLD_ERRORS = 3
"""Trials in a row that the world may fail before the run stops; it can be resumed."""


class Optimizer:
    """Runs one search. The same call starts a run and resumes it: what the journal holds is
    taken from there.

    Trials run in the threads of `executor`, `parallel` at a time, and are told in the order they
    were asked, so that the tree does not depend on how long each took.

    `objective` says what counts as better. The `finalists` best are measured again at the end,
    where the evaluator is a Confirmer; 0 reports what the search saw. They are no part of the
    tree, so that a resumed run may have another number of them.
    """

    def __init__(
        self,
        *,
        task: KernelTask,
        proposer: Proposer,
        evaluator: Evaluator,
        advisor: Advisor,
        journal: Journal,
        budget: Budget,
        search_settings: SearchSettings | None = None,
        seed: int = 0,
        parallel: int = 1,
        objective: Objective = "time",
        finalists: int = 3,
        executor: Executor | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        if parallel < 1 or budget.evaluations < 1:
            raise InputError("a run needs at least one evaluation and one trial at a time")
        if finalists < 0:
            raise InputError(f"the number of finalists is not negative, not {finalists}")
        _check_objective(objective, evaluator)
        self.task, self.proposer, self.evaluator = task, proposer, evaluator
        self.budget, self.seed, self.parallel = budget, seed, parallel
        self.objective, self.finalists = objective, finalists
        self.settings = search_settings or SearchSettings()
        ranking = Ranking(objective=objective)
        self.log, self.ledger = RunLog(journal), Ledger(ranking)
        self.world = World(
            task=task,
            proposer=proposer,
            evaluator=evaluator,
            advisor=advisor,
            log=self.log,
            ranking=ranking,
        )
        self._journal, self._executor, self._on_progress = journal, executor, on_progress
        self._flights: deque[tuple[Trial, Future[Answer]]] = deque()
        self._stopping = threading.Event()
        self._world_errors = 0

    def run(self) -> Result:
        """Search until the budget is spent, nothing is left to try, or `stop` is called; then
        measure the finalists again.

        Raises InputError when the baseline itself fails, WorldError when the world keeps failing.
        Whatever ends the run, the journal holds all that was learned.
        """
        self.log.begin(self._identity())
        executor = self._executor or ThreadPoolExecutor(self.parallel, "rooftree-trial")
        try:
            self._plant()
            reason = self._grow(executor)
            self._confirm()
            self._advise(self.ledger.best())
        except KeyboardInterrupt:
            self.log.stop("interrupted")
            raise
        except JournalError:
            raise
        except (InputError, WorldError) as error:
            self.log.stop(f"error: {error}")
            raise
        finally:
            if self._executor is None:
                executor.shutdown(wait=False, cancel_futures=True)
        self.log.stop(reason)
        return read_result(self._journal.events())

    def stop(self) -> None:
        """Ask nothing new; `run` returns once the trials in flight are told. Thread-safe."""
        self._stopping.set()

    # The steps of the search, in the order they happen.

    def _plant(self) -> None:
        """Measure the baseline: it is the root, and the yardstick of every reward."""
        self._report("measuring the baseline")
        proposal = Proposal(candidate=self.task.baseline, prior=1.0)
        self.world.adopt(0, proposal)
        evaluation = self.world.evaluate(0, proposal.candidate)
        if not evaluation.measured:
            raise InputError(f"the baseline fails ({evaluation.status}): {evaluation.message}")
        if self.objective != "time" and evaluation.energy is None:
            why = "; ".join(evaluation.notes) or "the baseline's energy could not be measured"
            raise InputError(f"objective {self.objective} cannot be searched for here: {why}")
        guidance = self.world.advise(0, proposal.candidate, evaluation)
        floor_us = guidance.roofline.speed_of_light_us if guidance.roofline else None
        self.scale = RewardScale.calibrate(evaluation, floor_us, objective=self.objective)
        self.ledger.ranking = Ranking.calibrate(evaluation, self.objective)
        self.memory = RunMemory(noise=self.scale.noise)
        outcome = self._outcome(Answer(proposal, evaluation))
        self.search = Search(outcome, settings=self.settings, seed=self.seed)
        self.ledger.guidance[0] = guidance
        self._enter(0, None, Answer(proposal, evaluation), outcome)

    def _grow(self, executor: Executor) -> str:
        """Keep `parallel` trials in flight until there is a reason to stop; returns it."""
        while True:
            reason = self._reason_to_stop()
            while reason is None and self._may_launch():
                trial = self.search.ask()
                if trial is None:
                    break
                self._launch(trial, executor)
            if not self._flights:
                return reason or "nothing left to try"
            self._land(*self._flights.popleft())

    def _launch(self, trial: Trial, executor: Executor) -> None:
        """Send a trial out. An inline proposal is made here, in the order of asking."""
        payload = {"trial": trial.id, "parent": trial.parent, "seed": trial.seed}
        self.log.confirm("asked", {**payload, **asdict(trial.move)})
        request, best = self._request(trial), self.ledger.best_speedup
        if not self.proposer.inline:
            flight = executor.submit(self.world.propose_and_judge, trial.id, request, best)
        else:
            answer = self.world.propose(trial.id, request)
            if answer.proposal is not None:
                self.ledger.tried.add(answer.proposal.candidate.id)
                flight = executor.submit(self.world.judge, trial.id, answer.proposal, best)
            else:
                flight = Future()
                flight.set_result(answer)
        self._flights.append((trial, flight))

    def _land(self, trial: Trial, flight: Future[Answer]) -> None:
        """Take a trial back: tell the search what came of it, and learn a lesson."""
        answer = flight.result()
        if isinstance(answer.error, WorldError):
            self._abandon(trial, answer, answer.error)
            return
        self._world_errors = 0
        if isinstance(answer.error, NoMoves):
            self.search.exhaust(trial.id)
            return
        outcome = self._outcome(answer)
        self._learn(trial, answer)
        self.search.tell(trial.id, outcome)
        self._enter(trial.id, trial.parent, answer, outcome)

    def _abandon(self, trial: Trial, answer: Answer, error: WorldError) -> None:
        """The world failed: forget the trial, so that its candidate may be proposed again."""
        if answer.proposal is not None:
            self.ledger.tried.discard(answer.proposal.candidate.id)
        known = self.log.confirm("abandoned", {"trial": trial.id, "reason": str(error)})
        self.search.abandon(trial.id)
        self._world_errors += not known
        if self._world_errors >= MAX_WORLD_ERRORS:
            raise error
        self._report(f"trial {trial.id} abandoned: {error}")

    def _confirm(self) -> None:
        """Measure the finalists again; the tree and its rewards stay as they are."""

        def report(words: str) -> None:
            self._report(words, phase="confirming")

        confirm_finalists(self.ledger, self.world, count=self.finalists, report=report)

    # What the steps need.

    def _may_launch(self) -> bool:
        out = len(self._flights)
        return out < self.parallel and self.ledger.told + out < self.budget.evaluations

    def _reason_to_stop(self) -> str | None:
        if self._stopping.is_set():
            return "interrupted"
        if self.ledger.told >= self.budget.evaluations:
            return "evaluations spent"
        minutes = self.budget.minutes
        if minutes is not None and self.log.elapsed_s >= minutes * 60:
            return "time spent"
        return None

    def _request(self, trial: Trial) -> ProposalRequest:
        guidance = self._advise(trial.parent)
        return ProposalRequest(
            task=self.task,
            parent=self.ledger.candidates[trial.parent],
            evaluation=self._evaluation(trial.parent),
            guidance=guidance,
            lessons=self.memory.recall(state_of(guidance)),
            move=trial.move,
            tried=frozenset(self.ledger.tried),
            seed=trial.seed,
        )

    def _advise(self, node: int) -> Guidance:
        """Guidance for a node, made when it is first needed: profiling takes seconds, and only
        variants that are built upon are worth them."""
        if node not in self.ledger.guidance:
            self.ledger.guidance[node] = self.world.advise(
                node, self.ledger.candidates[node], self._evaluation(node)
            )
        return self.ledger.guidance[node]

    def _evaluation(self, node: int) -> Evaluation:
        evaluation = self.ledger.evaluations[node]
        assert evaluation is not None, "a node without an evaluation is never expanded"
        return evaluation

    def _outcome(self, answer: Answer) -> Outcome:
        evaluation, prior = answer.evaluation, answer.proposal.prior if answer.proposal else 0.5
        fresh = evaluation is not None and self.ledger.twin_of(answer) is None
        if evaluation is None or not evaluation.measured:
            return Outcome("failed", prior=prior, expandable=fresh)
        reward = self.scale.reward(evaluation)
        expandable = fresh and not self.scale.near_peak(evaluation)
        return Outcome("measured", reward=reward, prior=prior, expandable=expandable)

    def _learn(self, trial: Trial, answer: Answer) -> None:
        parent = self.ledger.evaluations[trial.parent]
        if answer.proposal is None or answer.evaluation is None or parent is None:
            return
        if self.ledger.twin_of(answer) is None:
            self.memory.record(
                state=state_of(self.ledger.guidance.get(trial.parent)),
                parent=parent,
                candidate=answer.proposal.candidate,
                evaluation=answer.evaluation,
            )

    def _enter(self, node: int, parent: int | None, answer: Answer, outcome: Outcome) -> None:
        line = self.ledger.enter(node, parent, answer, outcome)
        known = self.log.confirm("told", {**line, "elapsed_s": round(self.log.elapsed_s, 3)})
        self._report(describe(line, answer), replaying=known)

    def _identity(self) -> Mapping[str, Any]:
        return {
            "task": self.task.name,
            "task_id": self.task.id,
            "proposer": self.proposer.name,
            "evaluator": self.evaluator.name,
            "hardware": str(self.evaluator.hardware),
            "seed": self.seed,
            "parallel": self.parallel,
            "objective": self.objective,
            "settings": asdict(self.settings),
        }

    def _report(self, last: str, *, replaying: bool = False, phase: Phase = "searching") -> None:
        if self._on_progress is not None:
            self._on_progress(
                progress_of(
                    self.ledger,
                    budget=self.budget,
                    in_flight=len(self._flights),
                    elapsed_s=self.log.elapsed_s,
                    last=last,
                    replaying=replaying,
                    phase=phase,
                )
            )


def _check_objective(objective: Objective, evaluator: Evaluator) -> None:
    if objective not in OBJECTIVES:
        raise InputError(f"there is no objective {objective!r}; one of: {', '.join(OBJECTIVES)}")
    if objective != "time" and not isinstance(evaluator, EnergyMeter):
        raise InputError(
            f"objective {objective} needs energy, which evaluator {evaluator.name} does not measure"
        )
