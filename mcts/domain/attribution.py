"""What one method of a variant is worth, by measuring the variant without it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mcts.domain.base import Noun
from mcts.domain.lesson import Lesson, StateSignature
from mcts.domain.lesson import Outcome as LessonOutcome

Worth = Literal["effective", "ineffective", "harmful", "implementation_failed", "unknown"]


class Attribution(Noun):
    """One method of one variant, after the ablation of cuda-optimized-skill V2.

    effective: without the method the variant is slower, beyond the noise.
    ineffective: it is there, and brings nothing.
    harmful: without it the variant is faster, beyond the noise.
    implementation_failed: the machine code never shows it, whatever the gain.
    unknown: no variant without it could be made or measured; `note` says why.

    gain: time without the method over the time with it, less 1, and the ends of its interval.
    `without` is the variant measured for it, `tunables` what had to be moved for it (empty if
    the proposer rewrote the code). `realised` is None if nobody could look.
    """

    candidate_id: str
    method: str
    worth: Worth
    gain: float | None = Field(default=None, gt=-1, allow_inf_nan=False)
    gain_low: float | None = Field(default=None, gt=-1, allow_inf_nan=False)
    gain_high: float | None = Field(default=None, gt=-1, allow_inf_nan=False)
    without: str | None = None
    tunables: tuple[str, ...] = ()
    realised: bool | None = None
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Attribution:
        ends = (self.gain_low, self.gain, self.gain_high)
        known = [end for end in ends if end is not None]
        if len(known) not in (0, 3) or known != sorted(known):
            raise ValueError("a gain comes with an interval that contains it")
        if self.worth in ("effective", "ineffective", "harmful") and self.gain is None:
            raise ValueError(f"a method that is {self.worth} has a gain")
        if self.worth == "implementation_failed" and self.realised is not False:
            raise ValueError("an implementation has failed only if the machine code lacks it")
        if self.worth == "unknown" and not self.note:
            raise ValueError("a method of unknown worth needs a note that says why")
        return self

    def lesson(self, state: StateSignature, *, noise: float) -> Lesson | None:
        """The lesson of the method's own gain, no longer that of all methods together.

        Returns None if no gain was measured.
        """
        if self.gain is None or self.gain_low is None or self.gain_high is None:
            return None
        outcome: LessonOutcome = "neutral"
        if self.gain_low > 0 and self.gain > noise:
            outcome = "improved"
        elif self.gain_high < 0 and self.gain < -noise:
            outcome = "regressed"
        return Lesson(
            state=state,
            method=self.method,
            outcome=outcome,
            gain=1 + self.gain,
            realised=self.realised,
        )
