"""Search memory within a run: in which state which method brought what."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain import Candidate, Evaluation, Guidance, Lesson, StateSignature
from mcts.domain.lesson import Outcome


def state_of(guidance: Guidance | None) -> StateSignature:
    """The performance state a guidance speaks about."""
    roofline = guidance.roofline if guidance else None
    if roofline is None:
        return StateSignature()
    return StateSignature(bound=roofline.bound, near_peak=roofline.near_peak)


class RunMemory:
    """Lessons of one run, in the order they were learned."""

    def __init__(self, *, noise: float) -> None:
        self.noise = noise
        self._lessons: list[Lesson] = []
        self._taught_by: dict[str, range] = {}

    def record(
        self,
        *,
        state: StateSignature,
        parent: Evaluation,
        candidate: Candidate,
        evaluation: Evaluation,
    ) -> tuple[Lesson, ...]:
        """Learn one lesson per method the candidate claims; a repair teaches none, also where the
        failed parent has a time: a suspect's cannot be believed.

        The gain is shared by all claimed methods: which of them earned it is not known here.
        """
        if not parent.measured:
            return ()
        outcome, gain = self._compare(parent, evaluation)
        lessons = tuple(
            Lesson(state=state, method=method, outcome=outcome, gain=gain)
            for method in candidate.methods
        )
        begin = len(self._lessons)
        self._lessons.extend(lessons)
        self._taught_by[candidate.id] = range(begin, len(self._lessons))
        return lessons

    def realise(self, candidate: Candidate, seen: Mapping[str, bool]) -> None:
        """Note in the candidate's lessons which of its methods its machine code shows."""
        for at in self._taught_by.get(candidate.id, ()):
            lesson = self._lessons[at]
            if lesson.method in seen:
                realised = {"realised": seen[lesson.method]}
                self._lessons[at] = lesson.model_copy(update=realised)

    def recall(self, state: StateSignature, *, limit: int = 64) -> tuple[Lesson, ...]:
        """Lessons learned in the same state first, then others, the latest first."""
        latest = self._lessons[::-1]
        same = [lesson for lesson in latest if lesson.state == state]
        other = [lesson for lesson in latest if lesson.state != state]
        return tuple((same + other)[:limit])

    def _compare(self, parent: Evaluation, child: Evaluation) -> tuple[Outcome, float | None]:
        if not child.measured or child.timing is None or parent.timing is None:
            return "failed", None
        gain = parent.timing.median_us / child.timing.median_us
        if gain > 1 + self.noise:
            return "improved", gain
        if gain < 1 / (1 + self.noise):
            return "regressed", gain
        return "neutral", gain
