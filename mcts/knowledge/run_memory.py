"""Search memory within a run: in which state which method brought what."""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain import Candidate, Evaluation, KernelTask, Lesson, StateSignature
from mcts.domain.lesson import Outcome
from mcts.knowledge.moves import acts_of
from mcts.knowledge.states import state_of

__all__ = ["RunMemory", "compare", "state_of"]


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
        origin: Candidate | None = None,
        task: KernelTask | None = None,
    ) -> tuple[Lesson, ...]:
        """Learn one lesson per method the candidate claims; a repair teaches none, even if the
        failed parent was timed, because a suspect timing is not trusted.

        The gain is shared by all claimed methods: which of them earned it is not known here. With
        the candidate it was made from (`origin`) and the task, methods that were taken back are
        told from those that were applied.
        """
        if not parent.measured:
            return ()
        outcome, gain = compare(parent, evaluation, noise=self.noise)
        told: list[tuple[str, bool | None]] = [(method, None) for method in candidate.methods]
        if origin is not None and task is not None:
            told = [*acts_of(origin, candidate, task)]
        lessons = tuple(
            Lesson(
                state=state,
                method=method,
                outcome=outcome,
                gain=gain,
                undone=undone,
                among=len(told),
            )
            for method, undone in told
        )
        begin = len(self._lessons)
        self._lessons.extend(lessons)
        self._taught_by[candidate.id] = range(begin, len(self._lessons))
        return lessons

    def realise(self, candidate: Candidate, seen: Mapping[str, bool]) -> None:
        """Note in the candidate's lessons which of its methods its machine code shows."""
        for at in self._taught_by.get(candidate.id, ()):
            lesson = self._lessons[at]
            if lesson.method in seen and not lesson.undone:
                realised = {"realised": seen[lesson.method]}
                self._lessons[at] = lesson.model_copy(update=realised)

    def recall(self, state: StateSignature, *, limit: int = 64) -> tuple[Lesson, ...]:
        """Lessons learned in the states most like this one first, and the latest before others."""
        latest = self._lessons[::-1]
        latest.sort(key=lambda lesson: -lesson.state.closeness(state))
        return tuple(latest[:limit])


def compare(parent: Evaluation, child: Evaluation, *, noise: float) -> tuple[Outcome, float | None]:
    """What a child came to beside its parent: better and worse are beyond the noise."""
    if not child.measured or child.timing is None or parent.timing is None:
        return "failed", None
    gain = parent.timing.median_us / child.timing.median_us
    if gain > 1 + noise:
        return "improved", gain
    if gain < 1 / (1 + noise):
        return "regressed", gain
    return "neutral", gain
