"""The rounds of verification: how inputs are drawn, and which weights change before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Round:
    """One verification: how inputs are drawn, and which weights change before it."""

    variation: str
    weights: Literal["same", "new", "partly new"] = "same"
    may_refuse: bool = False

    @property
    def label(self) -> str:
        changed = "" if self.weights == "same" else f", {self.weights} weights"
        return f"inputs {self.variation}{changed}"


def rounds_of(
    *, mutable_weights: bool, hidden_shapes: bool, variations: Sequence[str]
) -> list[Round]:
    """The rounds of a task: first as given, so that what fails later is known to fail only then."""
    rounds = [Round("given"), Round("given")]
    if mutable_weights:
        rounds += [Round("given", weights="new"), Round("given", weights="partly new")]
    allowed = [name for name in variations if name != "batch" or hidden_shapes]
    return rounds + [Round(name, may_refuse=name == "batch") for name in allowed]
