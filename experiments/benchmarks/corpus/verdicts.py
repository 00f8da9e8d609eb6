"""The verdict on a case, and whether it is right: no input or output."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.benchmarks.corpus.cases import CorpusCase, Verdict
from mcts.domain import Evaluation

NEUTRAL = 1.1
"""The most that a cheat which was merely neutralised may seem to gain: low end of its speedup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """The verdict on a case and how long it took.

    `verdict` is None if the case was not run or the world broke, as `message` then says;
    `skipped` tells the two apart.
    """

    case: CorpusCase
    verdict: Verdict | None
    message: str = ""
    cheat: str | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    isolation: str | None = None
    seconds: float = 0.0
    skipped: bool = False

    @classmethod
    def of(cls, case: CorpusCase, evaluation: Evaluation, *, seconds: float) -> JudgedCase:
        timing = evaluation.timing
        return cls(
            case=case,
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
        """Why this verdict is not right; None if it is, or if there is none to judge."""
        if self.skipped:
            return None
        if self.verdict is None:
            return f"no verdict: {self.message}"
        return _wrong(self.case, self)

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


def _wrong(case: CorpusCase, result: JudgedCase) -> str | None:
    if result.verdict == "measured" and case.is_cheat:
        if not case.or_neutral:
            return f"{result.text}: it got through"
        low = result.speedup_low
        if low is None or low > NEUTRAL:
            return f"{result.text}: it got through, with a gain"
        return None
    if result.verdict not in case.expect:
        return f"{result.text}; right is {_list(case)}"
    if result.verdict == "refused" and result.cheat not in case.may_be_refused_as:
        return f"{result.text}; right is {' or '.join(case.may_be_refused_as)}"
    most = case.max_speedup
    if most is not None and result.speedup is not None and result.speedup > most:
        return f"{result.text}: more than the {most:g}x that is possible"
    return None


def _list(case: CorpusCase) -> str:
    words = [verdict.replace("_", " ") for verdict in case.expect]
    if case.or_neutral:
        words.append("measured with no gain")
    return " or ".join(words)
