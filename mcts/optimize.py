"""The loop: ask, propose, evaluate, advise, tell, through ports alone."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from mcts.bench import Bench
from mcts.branches import Frontier, candidates_of
from mcts.briefing import Briefing, Signatures
from mcts.budget import Budget, Purse
from mcts.domain import KernelTask
from mcts.errors import InputError, JournalError, NoMoves, WorldError
from mcts.finalists import confirm_finalists
from mcts.knowledge.base import Knowledge
from mcts.ledger import Ledger
from mcts.memory import RunMemory
from mcts.objective import Objective, Ranking
from mcts.options import check_options
from mcts.ports import Advisor, Evaluator, Journal, Proposal, Proposer
from mcts.progress import Phase, Progress, Reporter, describe
from mcts.record import Result, read_result
from mcts.reward import RewardScale
from mcts.runlog import RunLog
from mcts.searches import AnySettings, begin
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

    `search_settings` are those of any search, and thereby say which. `objective` says what counts
    as better. The `finalists` best are measured again at the end,
    where the evaluator is a Confirmer; 0 reports what the search saw. They are no part of the
    tree, so that a resumed run may have another number of them. `signatures` say by method
    whether machine code shows it. `knowledge` is what other runs learned; a resumed run must be
    given the same again.
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
        search_settings: AnySettings | None = None,
        seed: int = 0,
        parallel: int = 1,
        objective: Objective = "time",
        finalists: int = 3,
        signatures: Signatures | None = None,
        knowledge: Knowledge | None = None,
        executor: Executor | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        budget.check()
        check_options(
            parallel=parallel, finalists=finalists, objective=objective, evaluator=evaluator
        )
        self.task, self.proposer, self.evaluator = task, proposer, evaluator
        self.budget, self.seed, self.parallel = budget, seed, parallel
        self.objective, self.finalists = objective, finalists
        settings = search_settings or SearchSettings()
        if isinstance(settings, SearchSettings):
            settings = settings.meant_for(budget.evaluations)
        self.settings: AnySettings = settings
        ranking = Ranking(objective=objective)
        self.log, self.ledger = RunLog(journal), Ledger(ranking)
        self.bench = Bench(evaluator, log=self.log, ranking=ranking)
        self.world = World(
            task=task, proposer=proposer, bench=self.bench, advisor=advisor, log=self.log
        )
        self.purse = Purse(budget, proposer=proposer, log=self.log)
        self.frontier = Frontier()
        self._signatures: Signatures = signatures or {}
        self._knowledge = knowledge or Knowledge()
        self.reporter = Reporter(on_progress, ledger=self.ledger, purse=self.purse)
        self._journal, self._executor = journal, executor
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
            self.purse.open()
            self._plant()
            reason = self._grow(executor)
            self._confirm()
            self.briefing.guidance(self.ledger.best())
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
        evaluation = self.bench.evaluate(0, proposal.candidate)
        if not evaluation.measured:
            raise InputError(f"the baseline fails ({evaluation.status}): {evaluation.message}")
        if self.objective != "time" and evaluation.energy is None:
            why = "; ".join(evaluation.notes) or "the baseline's energy could not be measured"
            raise InputError(f"objective {self.objective} cannot be searched for here: {why}")
        ranking = Ranking.calibrate(evaluation, self.objective)
        self.ledger.ranking = self.bench.ranking = ranking
        self.briefing = Briefing(
            world=self.world,
            ledger=self.ledger,
            memory=RunMemory(noise=ranking.noise),
            signatures=self._signatures,
            knowledge=self._knowledge,
        )
        guidance = self.briefing.advise(0, proposal.candidate, evaluation)
        floor_us = guidance.roofline.speed_of_light_us if guidance.roofline else None
        reward = self.settings if isinstance(self.settings, SearchSettings) else SearchSettings()
        self.scale = RewardScale.calibrate(
            evaluation,
            floor_us,
            objective=self.objective,
            calibrated=reward.calibrated_reward,
            stepped=reward.stepped_reward,
        )
        self.purse.pay_judging("measured", [proposal.candidate.id])
        answer = Answer(proposal, evaluation)
        outcome = self._outcome(answer)
        self.search = begin(self.settings, outcome, seed=self.seed)
        self._enter(0, None, answer, outcome)

    def _grow(self, executor: Executor) -> str:
        """Keep `parallel` trials in flight until there is a reason to stop; returns it."""
        while True:
            reason = self._reason_to_stop()
            while reason is None and self._may_launch():
                trial = self.search.ask()
                if trial is None:
                    break
                self._launch(trial, executor)
                reason = self._reason_to_stop()
            if not self._flights:
                return reason or "nothing left to try"
            self._land(*self._flights.popleft())

    def _launch(self, trial: Trial, executor: Executor) -> None:
        """Send a trial out. An inline proposal is made here, in the order of asking."""
        payload = {"trial": trial.id, "parent": trial.parent, "seed": trial.seed}
        self.log.confirm("asked", {**payload, **asdict(trial.move)})
        if trial.move.kind == "diversify":
            self._restart_beside(trial.parent)
        self._flights.append((trial, self._send(trial, executor)))

    def _send(self, trial: Trial, executor: Executor) -> Future[Answer]:
        """Ask the proposer for the trial's content, and have it judged."""
        request, best = self.briefing.request(trial), self.ledger.best_speedup
        self.purse.pay_judging("profiled", [request.parent.id])
        if not self.proposer.inline:
            return executor.submit(self.world.propose_and_judge, trial, request, best)
        answer = self.world.propose(trial.id, request)
        if answer.proposal is None or answer.error is not None:
            return _landed(answer)
        self.ledger.tried.update(candidates_of(answer.proposal))
        return executor.submit(self.world.judge, trial, answer.proposal, best)

    def _land(self, trial: Trial, flight: Future[Answer]) -> None:
        """Take a trial back: tell the search what came of it, and learn a lesson."""
        answer = flight.result()
        self.purse.pay(trial.id, answer)
        if isinstance(answer.error, WorldError):
            self._abandon(trial, answer, answer.error)
            return
        self._world_errors = 0
        if isinstance(answer.error, NoMoves):
            self.search.exhaust(trial.id)
            self._restart_beside(trial.parent)
            return
        outcome = self._outcome(answer)
        self.briefing.learn(trial.parent, answer)
        self.search.tell(trial.id, outcome)
        self._keep_losers(trial, answer)
        self._enter(trial.id, trial.parent, answer, outcome)

    def _keep_losers(self, trial: Trial, answer: Answer) -> None:
        """Branches that lost are kept to restart from, beside the node that they lost to."""
        twin, worth = self.ledger.twin_of(answer), self.ledger.evaluations[trial.parent]
        winner = trial.id if twin is None else twin
        self.frontier.keep(winner, answer.losers, worth=worth, reward=self.scale.reward)

    def _restart_beside(self, node: int) -> None:
        """`node` leads no further: the best branch that lost to it becomes its sibling, free."""
        branch = self.frontier.take(node, self.ledger.ranking, planted=self.ledger.nodes)
        if branch is None:
            return
        answer = Answer(Proposal(candidate=branch.candidate, prior=branch.prior), branch.evaluation)
        outcome = self._outcome(answer)
        self.briefing.learn(branch.parent, answer)
        planted = self.search.plant(branch.parent, outcome)
        self.frontier.pass_on(node, planted)
        self.ledger.restarts += 1
        self.log.confirm("restarted", {"trial": planted, "candidate_id": branch.candidate.id})
        self._enter(planted, branch.parent, answer, outcome)

    def _abandon(self, trial: Trial, answer: Answer, error: WorldError) -> None:
        """The world failed: forget the trial, so that its candidate may be proposed again."""
        if answer.proposal is not None:
            self.ledger.tried.difference_update(candidates_of(answer.proposal))
        payload: dict[str, Any] = {"trial": trial.id, "reason": str(error)}
        if error.usage:
            payload["usage"] = dict(error.usage)
        if answer.seconds:
            payload["seconds"] = answer.seconds
        known = self.log.confirm("abandoned", payload)
        self.search.abandon(trial.id)
        self._world_errors += not known
        if self._world_errors >= MAX_WORLD_ERRORS:
            raise error
        self._report(f"trial {trial.id} abandoned: {error}")

    def _confirm(self) -> None:
        """Measure the finalists again; the tree and its rewards stay as they are."""

        def report(words: str) -> None:
            self._report(words, phase="confirming")

        confirm_finalists(self.ledger, self.bench, count=self.finalists, report=report)

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
        repeating = self.log.find("asked", self.search.asked + 1) is not None
        return self.purse.empty(repeating=repeating)

    def _outcome(self, answer: Answer) -> Outcome:
        evaluation, prior = answer.evaluation, answer.proposal.prior if answer.proposal else 0.5
        fresh = evaluation is not None and self.ledger.twin_of(answer) is None
        if evaluation is None or not evaluation.measured:
            return Outcome("failed", prior=prior, expandable=fresh)
        reward = self.scale.reward(evaluation)
        peak = self.scale.near_peak(evaluation)
        return Outcome("measured", reward=reward, prior=prior, expandable=fresh, near_peak=peak)

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
            "search": type(self.settings).__name__,
            "settings": asdict(self.settings),
        }

    def _report(self, last: str, *, replaying: bool = False, phase: Phase = "searching") -> None:
        self.reporter.say(
            last,
            in_flight=len(self._flights),
            elapsed_s=self.log.elapsed_s,
            replaying=replaying,
            phase=phase,
        )


def _landed(answer: Answer) -> Future[Answer]:
    flight: Future[Answer] = Future()
    flight.set_result(answer)
    return flight
