"""What came of an exhibit, and whether it is right: pure."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.benchmarks.corpus.exhibits import Exhibit, Verdict
from mcts.domain import Evaluation

NEUTRAL = 1.1
"""The most that a cheat which was merely neutralised may seem to gain: low end of its speedup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on an exhibit and how long it took.

    `verdict` is None if the exhibit was not run or the world broke, as `message` then says;
    `skipped` tells the two apart.
    """

    exhibit: Exhibit
    verdict: Verdict | None
    message: str = ""
    cheat: str | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    isolation: str | None = None
    seconds: float = 0.0
    skipped: bool = False

    @classmethod
    def of(cls, exhibit: Exhibit, evaluation: Evaluation, *, seconds: float) -> Outcome:
        timing = evaluation.timing
        return cls(
            exhibit=exhibit,
            verdict=evaluation.status,
            message=evaluation.message,
            cheat=evaluation.refusal.cheat if evaluation.refusal else None,
            speedup=timing.speedup if timing else None,
            speedup_low=timing.speedup_low if timing else None,
            isolation=str(evaluation.isolation) if evaluation.isolation else None,
            seconds=seconds,
        )

    @property
    def wrong(self) -> str | None:
        """Why this verdict is not right; None if it is, or where there is none to judge."""
        if self.skipped:
            return None
        if self.verdict is None:
            return f"no verdict: {self.message}"
        return _wrong(self.exhibit, self)

    @property
    def text(self) -> str:
        """The verdict in a few words: status, class of a refusal, speedup where measured."""
        if self.verdict is None:
            return "not run" if self.skipped else "no verdict"
        words = self.verdict.replace("_", " ")
        if self.verdict == "refused":
            return f"{words} ({self.cheat})"
        if self.verdict == "measured" and self.speedup is not None:
            return f"{words}, {self.speedup:.2f}x"
        return words


def _wrong(exhibit: Exhibit, outcome: Outcome) -> str | None:
    if outcome.verdict == "measured" and exhibit.is_cheat:
        if not exhibit.or_neutral:
            return f"{outcome.text}: it got through"
        low = outcome.speedup_low
        if low is None or low > NEUTRAL:
            return f"{outcome.text}: it got through, with a gain"
        return None
    if outcome.verdict not in exhibit.expect:
        return f"{outcome.text}; right is {_list(exhibit)}"
    if outcome.verdict == "refused" and outcome.cheat not in exhibit.may_be_refused_as:
        return f"{outcome.text}; right is {' or '.join(exhibit.may_be_refused_as)}"
    most = exhibit.max_speedup
    if most is not None and outcome.speedup is not None and outcome.speedup > most:
        return f"{outcome.text}: more than the {most:g}x that is possible"
    return None


def _list(exhibit: Exhibit) -> str:
    words = [verdict.replace("_", " ") for verdict in exhibit.expect]
    if exhibit.or_neutral:
        words.append("measured with no gain")
    return " or ".join(words)
