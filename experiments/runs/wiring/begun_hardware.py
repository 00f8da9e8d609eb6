"""The hardware that a run was begun with stays its measure, whatever a later session finds.

Ceilings are measured anew in each process and on each machine. Those in the journal's beginning are
used for prompts, rooflines and rewards, so that all of a run is of one scale and a resumed run asks
the same questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcts.domain import Candidate, Evaluation, Hardware, Profile, Work
from mcts.journal.runlog import begun_on
from mcts.ports import Evaluator, Event, StageObserver


def as_begun(evaluator: Evaluator, events: Iterable[Event]) -> Evaluator:
    """The evaluator of a session, which measures the run of these events by one scale.

    If its hardware is not the run's, it is returned as it is: the run then refuses it.
    """
    begun = begun_on(events) or evaluator.hardware
    same = str(begun) == str(evaluator.hardware)
    return _EvaluatorAsBegun(evaluator, begun) if same else evaluator


class _EvaluatorAsBegun(Evaluator):
    """Another evaluator, with the hardware that the run began with; rooflines are drawn by its
    ceilings.
    """

    def __init__(self, evaluator: Evaluator, hardware: Hardware) -> None:
        self._evaluator, self._hardware = evaluator, hardware
        self.name, self.task, self.devices = evaluator.name, evaluator.task, evaluator.devices
        self.can_confirm = evaluator.can_confirm
        self.measures_energy = evaluator.measures_energy

    @property
    def hardware(self) -> Hardware:
        """As the run began with it."""
        return self._hardware

    def evaluate(self, candidate: Candidate) -> Evaluation:
        return self._evaluator.evaluate(candidate)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        return self._evaluator.confirm(candidate, evaluation)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        return self._evaluator.measure_energy(candidate, evaluation)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """With the run's ceilings, and the roofline under them."""
        time_us = evaluation.timing.heaviest.median_us if evaluation.timing else None
        return self._rescaled(self._evaluator.profile(candidate, evaluation), time_us)

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        """With the run's ceilings, and the rooflines under them."""
        profiles = self._evaluator.profile_many(candidates)
        return [self._rescaled(profile, None) for profile in profiles]

    def tell_stages(self, observer: StageObserver) -> None:
        self._evaluator.tell_stages(observer)

    def close(self) -> None:
        self._evaluator.close()

    def _rescaled(self, profile: Profile, time_us: float | None) -> Profile:
        found, ceilings = profile.hardware, self._hardware.ceilings
        if found is None or found.ceilings == ceilings or ceilings is None:
            return profile
        from profilers.roofline import classify

        hardware = found.model_copy(update={"ceilings": ceilings})
        rescaled = profile.model_copy(update={"hardware": hardware})
        if profile.roofline is None:
            return rescaled
        work = profile.work or Work.of(self.task)
        roofline = classify(work=work, profile=rescaled, time_us=time_us)
        return rescaled.model_copy(update={"roofline": roofline})
