"""The rounds of a verification: how inputs are drawn, and which weights change before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profilers.kernelbench.shared.variations import ALIKE, kinds_beyond


@dataclass(frozen=True, slots=True)
class VerificationRound:
    """One verification: how inputs are drawn, and which weights change before it."""

    variation: str
    weights: Literal["same", "new", "partly new"] = "same"
    may_refuse: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of rows, if they are none that the problem draws."""
        return kinds_beyond(self.variation)

    @property
    def expecting(self) -> dict[str, bool]:
        """What the oracle is told when it is asked what to expect."""
        return {
            "conditioned": bool(self.kinds),
            "alike": any(kind in ALIKE for kind in self.kinds),
        }

    @property
    def label(self) -> str:
        if self.kinds:
            return f"outside the drawn range only (rows {', '.join(self.kinds)})"
        changed = "" if self.weights == "same" else f", {self.weights} weights"
        return f"inputs {self.variation}{changed}"


def rounds_of(
    *, mutable_weights: bool, hidden_shapes: bool, variations: Sequence[str], beyond: bool = True
) -> list[VerificationRound]:
    """The rounds of a task: unchanged inputs first, so that later failures are due to a change.

    Weights change last, since nothing can be expected ahead of weights that are not there yet.
    """
    rounds = [VerificationRound("given"), VerificationRound("given")]
    rounds += [
        VerificationRound(name, may_refuse=name == "batch")
        for name in variations
        if (name != "batch" or hidden_shapes) and (beyond or not kinds_beyond(name))
    ]
    if mutable_weights:
        rounds += [
            VerificationRound("given", weights="new"),
            VerificationRound("given", weights="partly new"),
        ]
    return rounds
