"""From the oracle's comparisons to a `Verification` or a `Refusal`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from mcts.domain import CheatClass, Refusal, Verification
from profilers.measuring.rounding import unrelated

Comparison = Mapping[str, Any]


class Unfaithful(Exception):
    """There is evidence that a candidate does not do the task's work."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.evidence)
        self.refusal = refusal


@dataclass(slots=True)
class VerificationTally:
    """What verification has found so far.

    `late`: outputs were right only after waiting for the whole device. `excess` is the first error
    within the tolerance that shows a lower precision.
    """

    error_factor: float
    rounds: int = 0
    max_error: float | None = None
    worst_ratio: float | None = None
    error_ratio: float | None = None
    late: bool = False
    excess: Refusal | None = None
    notes: list[str] = field(default_factory=list)

    def take(
        self, comparison: Comparison, *, label: str, error_factor: float | None = None
    ) -> None:
        """Add a passing comparison, whose error may be so many times the honest one's."""
        self.rounds += 1
        factor = self.error_factor if error_factor is None else error_factor
        worst = None
        for output in comparison["outputs"]:
            self.max_error = _greater(self.max_error, output["max_error"])
            self.worst_ratio = _greater(self.worst_ratio, output["worst_ratio"])
            worst = _greater(worst, output["error_ratio"])
        self.error_ratio = _greater(self.error_ratio, worst)
        if self.excess is None and worst is not None and worst > factor:
            evidence = (
                f"{label}: within the tolerance, but its error is {worst:.4g} times that of an "
                f"honest run in the task's own precision (at most {factor:g} times is "
                "accepted)"
            )
            self.excess = Refusal(cheat="precision_downgrade", evidence=evidence)

    def conclude(self) -> None:
        """Unfaithful if an error shows a lower precision.

        Called after all rounds: a candidate that is inexact in one round and plainly wrong in
        another has a mistake, not a lower precision.
        """
        if self.excess is not None:
            raise Unfaithful(self.excess)

    def verification(self, *, passed: bool = True, detail: str = "") -> Verification:
        return Verification(
            passed=passed,
            rounds=self.rounds,
            max_error=self.max_error,
            worst_ratio=self.worst_ratio,
            error_ratio=self.error_ratio,
            detail=detail,
        )


def passes(comparison: Comparison) -> bool:
    """Whether the structure and every element are right, within the tolerance."""
    if comparison["structure"]:
        return False
    return not any(output["mismatches"] for output in comparison["outputs"])


def too_far(comparison: Comparison, *, error_factor: float) -> str | None:
    """Why outputs are wrong although within a tolerance wider than themselves; or None."""
    for output in comparison["outputs"]:
        share, ratio = output["error_share"], output["error_ratio"]
        if why := unrelated(
            output["path"], error_share=share, error_ratio=ratio, error_factor=error_factor
        ):
            return why
    return None


def complaint(comparison: Comparison) -> str:
    """What is wrong: how many elements, the first of them, and its value."""
    if comparison["structure"]:
        return str(comparison["structure"])
    return "; ".join(
        _output_complaint(output) for output in comparison["outputs"] if output["mismatches"]
    )


def first_refusal(problems: Sequence[Mapping[str, Any]]) -> Refusal | None:
    """The first evidence of the worker's guards, as a refusal."""
    for problem in problems:
        return Refusal(cheat=problem["cheat"], evidence=str(problem["evidence"]))
    return None


def cheat_of(kind: str) -> CheatClass | None:
    """The class in a worker's refusal of kind ``cheat:<class>``."""
    prefix, _, name = kind.partition(":")
    if prefix != "cheat":
        return None
    return name if name in get_args(CheatClass) else "forged_result"  # type: ignore[return-value]


def _output_complaint(output: Mapping[str, Any]) -> str:
    text = f"{output['mismatches']} of {output['elements']} elements of {output['path']} wrong"
    if output.get("first") is not None:
        text += f"; first at {output['first']}: got {output['got']}, expected {output['expected']}"
    if output.get("region"):
        text += f" ({output['region']})"
    if output["nans"]:
        text += f"; {output['nans']} NaN"
    return text


def _greater(held: float | None, found: float | None) -> float | None:
    if found is None or held is None:
        return held if found is None else found
    return max(held, found)
