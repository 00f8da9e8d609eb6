"""The evaluator behind the journal: each measurement, confirmation and profile is made once.

What the journal holds is taken from there. Otherwise the intent is written before the evaluator is
asked, and its answer, with the seconds it took, afterwards.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future

from mcts.domain import Candidate, Evaluation, Profile
from mcts.domain.objective import Ranking
from mcts.errors import JournalError, Suspended, WorldError
from mcts.journal.runlog import RunLog, reading_event
from mcts.journal.stages import StageBook, with_stages
from mcts.loop.stopwatch import SharedStopwatch
from mcts.ports import Evaluator


class Bench:
    """Measures candidates for the run. Thread-safe.

    Energy is measured right after the time if `ranking` asks for it.
    """

    def __init__(self, evaluator: Evaluator, *, log: RunLog, ranking: Ranking) -> None:
        self.evaluator, self.ranking = evaluator, ranking
        self._log = log
        self._lock = threading.Lock()
        self._evaluations: dict[str, Future[Evaluation]] = {}
        self._stopwatch = SharedStopwatch(evaluator.devices)
        self._stages = StageBook(log)
        evaluator.tell_stages(self._stages.enter)

    def evaluate(
        self, trial: int | None, candidate: Candidate, best_speedup: float = 0.0
    ) -> Evaluation:
        """Evaluate a candidate once, however many trials propose it, before or after a crash.

        `trial` is the trial that asks, None for an attribution. `best_speedup` is the greatest
        speedup known when the trial was asked for, not now: whether energy is measured must not
        depend on how long other trials took. Raises WorldError and NotRecorded, as evaluators do.
        """
        with self._lock:
            is_first = candidate.id not in self._evaluations
            pending = self._evaluations.setdefault(candidate.id, Future())
        if not is_first:
            return pending.result()
        try:
            evaluation = self._measure(trial, candidate, best_speedup)
        except BaseException as error:
            with self._lock:
                del self._evaluations[candidate.id]
            pending.set_exception(error)
            raise
        pending.set_result(evaluation)
        return evaluation

    def seconds(self, candidate: Candidate) -> float:
        """How long measuring a candidate took, as the journal says; 0 if it was not measured."""
        found = self._log.find("measured", candidate.id)
        return float(found.get("seconds", 0.0)) if found else 0.0

    def _measure(self, trial: int | None, candidate: Candidate, best_speedup: float) -> Evaluation:
        if found := self._log.find("measured", candidate.id):
            with reading_event(f"the measurement of {candidate.id}"):
                return Evaluation.model_validate(found["evaluation"])
        place = {"trial": trial, "candidate_id": candidate.id}
        self._log.write("measuring", place)
        with self._stages.of(place) as stages, self._stopwatch.running() as seconds:
            try:
                evaluation = self.evaluator.evaluate(candidate)
                evaluation = self._with_energy(candidate, evaluation, best_speedup)
            except (JournalError, Suspended):
                raise
            except WorldError:
                if trial is not None:
                    broken = {**place, "seconds": round(seconds(), 3)}
                    self._log.write("broken", with_stages(broken, stages))
                raise
            took = round(seconds(), 3)
            payload = {**place, "evaluation": evaluation.model_dump(mode="json"), "seconds": took}
            payload = with_stages(payload, stages)
        self._log.write("measured", payload)
        return evaluation

    def _with_energy(
        self, candidate: Candidate, evaluation: Evaluation, best_speedup: float
    ) -> Evaluation:
        wanted = self.ranking.wants_energy(evaluation, best_speedup=best_speedup)
        if not wanted or not self.evaluator.measures_energy:
            return evaluation
        return self.evaluator.measure_energy(candidate, evaluation)

    def confirmation(self, candidate_id: str) -> Evaluation | None:
        """The candidate's second measurement; None if it was not measured again."""
        found = self._log.find("confirmed", candidate_id)
        if found is None:
            return None
        with reading_event(f"the confirmation of {candidate_id}"):
            return Evaluation.model_validate(found["evaluation"])

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Measure a finalist again, once in a run, even if a crash came between."""
        if (known := self.confirmation(candidate.id)) is not None:
            return known
        place = {"candidate_id": candidate.id}
        self._log.write("confirming", place)
        with self._stages.of(place) as stages, self._stopwatch.running() as seconds:
            confirmed = self.evaluator.confirm(candidate, evaluation)
            confirmed = self._with_energy(candidate, confirmed, 0.0)
            took = round(seconds(), 3)
            timed = with_stages({"seconds": took}, stages)
        payload = {
            **place,
            "evaluation": confirmed.model_dump(mode="json"),
            **timed,
            "elapsed_s": round(self._log.elapsed_s, 3),
        }
        self._log.write("confirmed", payload)
        return confirmed

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The profile of a measured candidate; if the world fails, its `missing` says why."""
        if found := self._log.find("profiled", candidate.id):
            with reading_event(f"the profile of {candidate.id}"):
                return Profile.model_validate(found["profile"])
        place = {"candidate_id": candidate.id}
        self._log.write("profiling", place)
        with self._stages.of(place) as stages, self._stopwatch.running() as seconds:
            try:
                profile = self.evaluator.profile(candidate, evaluation)
            except (JournalError, Suspended):
                raise
            except WorldError as error:
                profile = Profile(missing={"profile": str(error)})
            took = round(seconds(), 3)
            timed = with_stages({"seconds": took}, stages)
        self._log.write("profiled", {**place, "profile": profile.model_dump(mode="json"), **timed})
        return profile
