"""The loop: ask, propose, evaluate, advise, tell, through ports alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict
from typing import Any

from mcts.domain import KernelTask
from mcts.domain.objective import Ranking
from mcts.errors import InputError, JournalError, NotRecorded, Suspended, WorldError
from mcts.journal.record import Result, read_result
from mcts.journal.runlog import RunLog
from mcts.knowledge.base import Knowledge
from mcts.knowledge.run_memory import RunMemory
from mcts.loop.beginning import check_options, measure_baseline, reward_scale
from mcts.loop.bench import Bench
from mcts.loop.briefing import Briefing, Signatures
from mcts.loop.budget import Budget, BudgetGuard
from mcts.loop.ceiling import Ceiling
from mcts.loop.finalists import confirm_finalists
from mcts.loop.flights import Flights
from mcts.loop.ledger import Ledger
from mcts.loop.progress import Progress, Reporter
from mcts.loop.reward import RewardSettings
from mcts.loop.settling import Settler, outcome_of
from mcts.loop.world import Answer, World
from mcts.options.search import Objective
from mcts.ports import Advisor, Evaluator, Journal, Proposal, Proposer
from mcts.search.port import SearchSettings
from mcts.search.puct import PuctSettings
from mcts.search.trial import Trial

__all__ = ["Budget", "Optimizer", "Progress", "Result", "read_result"]

SPENT = "evaluations spent"
"""Why a search stopped that had all the evaluations it was given."""
MAX_WORLD_ERRORS = 3
"""After so many failures of the world in a row the run stops; it can be resumed."""
MAX_UNRECORDED = 10
"""After so many proposals in a row that a replay's recording does not hold the run ends."""
BEYOND_RECORDING = "the recording does not hold what is proposed"


class Optimizer:
    """Runs one search.

    The same call starts a run and resumes it: what the journal holds is not asked again. Trials run
    in the threads of `executor`, `parallel` at a time, and are told in the order they were asked,
    so that the tree does not depend on how long each took.

    search_settings: also decide which search runs.
    reward_settings: how a gain becomes a reward.
    objective: what counts as better.
    finalists: how many of the best are measured again at the end, if the evaluator can; 0 reports
        what the search measured. They are no part of the tree: a resumed run may have another
        number.
    profiles_best: whether the best variant is profiled at the end if it was not before, so that a
        report can say what limits it; that may take longer than a trial.
    signatures: tell by method whether machine code shows it.
    knowledge: what other runs learned; a resumed run must be given the same.
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
        reward_settings: RewardSettings | None = None,
        seed: int = 0,
        parallel: int = 1,
        objective: Objective = "time",
        finalists: int = 3,
        profiles_best: bool = True,
        signatures: Signatures | None = None,
        knowledge: Knowledge | None = None,
        executor: Executor | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        check_options(
            parallel=parallel, finalists=finalists, objective=objective, evaluator=evaluator
        )
        self.task, self.proposer, self.evaluator = task, proposer, evaluator
        self.budget, self.seed, self.parallel = budget, seed, parallel
        self.objective, self.finalists = objective, finalists
        self._profiles_best = profiles_best
        self.settings = (search_settings or PuctSettings()).for_run_of(budget.evaluations)
        ranking = Ranking(objective=objective)
        self.log, self.ledger = RunLog(journal), Ledger(ranking)
        self.reward_settings = (reward_settings or RewardSettings()).as_begun(self.log.reward)
        self.bench = Bench(evaluator, log=self.log, ranking=ranking)
        self.world = World(
            task=task, proposer=proposer, bench=self.bench, advisor=advisor, log=self.log
        )
        self.guard = BudgetGuard(budget, proposer=proposer, log=self.log)
        self._signatures: Signatures = signatures or {}
        self._knowledge = knowledge or Knowledge()
        self.flights = Flights(
            world=self.world, ledger=self.ledger, parallel=parallel, executor=executor
        )
        self.reporter = Reporter(
            on_progress, ledger=self.ledger, guard=self.guard, log=self.log, flights=self.flights
        )
        self._journal = journal
        self._stopping = threading.Event()
        self._world_errors = self._unrecorded = 0

    def run(self) -> Result:
        """Search until the budget is spent, nothing is left to try, or `stop` is called; then
        measure the finalists again.

        Raises InputError if the baseline fails, WorldError if the world keeps failing. However the
        run ends, the journal holds all that was learned.
        """
        device = self.evaluator.hardware.model_dump(mode="json", exclude_none=True)
        was_spent = self._was_spent()
        self.log.begin(self._identity(), device=device)
        try:
            if was_spent:
                reason = SPENT
            else:
                self.guard.open()
                self._start()
                reason = self._grow()
                self._confirm()
                if self._profiles_best:
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
            self.flights.close()
        self.log.stop(reason)
        return read_result(self._journal.events())

    def stop(self) -> None:
        """Start no further trial; `run` returns once those in flight are told. Thread-safe."""
        self._stopping.set()

    # The steps of the search, in the order they happen.

    def _start(self) -> None:
        """Measure the baseline, which becomes the root, and begin the search."""
        known = self.log.find("measured", self.task.baseline.id) is not None
        self.reporter.say("measuring the baseline", replaying=known)
        proposal = Proposal(candidate=self.task.baseline, prior=1.0)
        evaluation = measure_baseline(proposal, world=self.world, objective=self.objective)
        own_times = self.reward_settings.own_times
        ranking = Ranking.calibrate(evaluation, self.objective, own_times=own_times)
        self.ledger.ranking = self.bench.ranking = ranking
        self.briefing = Briefing(
            world=self.world,
            ledger=self.ledger,
            memory=RunMemory(noise=ranking.noise),
            signatures=self._signatures,
            knowledge=self._knowledge,
        )
        guidance = self.briefing.advise(0, proposal.candidate, evaluation)
        scale = reward_scale(
            evaluation, guidance, objective=self.objective, settings=self.reward_settings
        )
        self.ceiling = Ceiling.of(
            evaluation,
            guidance.roofline,
            objective=self.objective,
            share=self.budget.stop_within,
        )
        self.guard.pay_judging("measured", [proposal.candidate.id])
        answer = Answer(proposal, evaluation)
        outcome = outcome_of(answer, ledger=self.ledger, scale=scale)
        self.search = self.settings.begin(outcome, seed=self.seed)
        self.settler = Settler(
            search=self.search,
            scale=scale,
            ledger=self.ledger,
            briefing=self.briefing,
            log=self.log,
            reporter=self.reporter,
        )
        self.settler.enter(0, None, answer, outcome)

    def _grow(self) -> str:
        """Keep `parallel` trials in flight until there is a reason to stop; returns the reason."""
        while True:
            reason = self._reason_to_stop()
            while reason is None and self._may_launch():
                trial = self.search.ask()
                if trial is None:
                    break
                self._launch(trial)
                reason = self._reason_to_stop()
            if not self.flights:
                return reason or "nothing left to try"
            self._settle(*self.flights.wait())

    def _launch(self, trial: Trial) -> None:
        """Journal a trial and start it, with all that its proposer may look at."""
        payload = {"trial": trial.id, "parent": trial.parent, "seed": trial.seed}
        self.log.confirm("asked", {**payload, **asdict(trial.move)})
        if trial.move.kind == "diversify":
            self.settler.restart_beside(trial.parent)
        request = self.briefing.request(
            trial, pending=self.flights.pending(), is_known=self.world.knows(trial.id)
        )
        self.guard.pay_judging("profiled", [request.parent.id])
        self.flights.launch(trial, request)

    def _settle(self, trial: Trial, answer: Answer) -> None:
        """Pay for a trial and settle it.

        Raises WorldError if the world keeps failing, or at once if the run is suspended: trials in
        flight are finished first, so that what they bring is in the journal.
        """
        if isinstance(answer.error, Suspended):
            self.flights.finish()
            raise answer.error
        self.guard.pay(trial.id, answer)
        if not isinstance(answer.error, WorldError):
            self._world_errors = 0
            beyond = isinstance(answer.error, NotRecorded) and answer.proposal is None
            self._unrecorded = self._unrecorded + 1 if beyond else 0
            self.settler.settle(trial, answer)
            return
        known = self.settler.abandon(trial, answer, answer.error)
        self._world_errors += not known
        if self._world_errors >= MAX_WORLD_ERRORS:
            raise answer.error
        self.reporter.say(f"trial {trial.id} abandoned: {answer.error}")

    def _confirm(self) -> None:
        """Measure the finalists again; the tree and its rewards stay as they are."""

        def report(words: str) -> None:
            self.reporter.say(words, phase="confirming")

        confirm_finalists(self.ledger, self.bench, count=self.finalists, report=report)

    # What the steps need.

    def _may_launch(self) -> bool:
        in_flight = len(self.flights)
        return in_flight < self.parallel and self.ledger.told + in_flight < self.budget.evaluations

    def _reason_to_stop(self) -> str | None:
        if self._stopping.is_set():
            return "interrupted"
        if self.ledger.told >= self.budget.evaluations:
            return SPENT
        if self._unrecorded >= MAX_UNRECORDED:
            return BEYOND_RECORDING
        minutes = self.budget.minutes
        if minutes is not None and self.log.elapsed_s >= minutes * 60:
            return "time spent"
        repeating = self.log.find("asked", self.search.asked + 1) is not None
        return self.guard.exhausted(repeating=repeating) or self.ceiling.reached(
            self._best_to_hand_back()
        )

    def _best_to_hand_back(self) -> float:
        """The best speedup; of proposed variants alone where the baseline is a reference, which is
        no kernel to hand back. 0 if there is none.
        """
        baseline = self.task.baseline.source
        if not self.task.dialect_of(baseline).baseline_is_reference:
            return self.ledger.best_speedup
        return self.ledger.best_proposed

    def _was_spent(self) -> bool:
        """Whether the journal ends with a search that had spent this budget: it is only read."""
        told = len(self.log.payloads("told")) - 1 - len(self.log.payloads("restarted"))
        return self.log.stopped == SPENT and told >= self.budget.evaluations

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
            "reward": asdict(self.reward_settings),
        }
