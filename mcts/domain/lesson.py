"""A lesson: what a method brought in a performance state."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mcts.domain.base import Noun
from mcts.domain.profile import BoundClass, MemoryLevel

Outcome = Literal["improved", "neutral", "regressed", "failed"]
Arithmetic = Literal["unknown", "fp32", "fp64", "half", "tensor", "integer"]
_NAME = Field(default="", max_length=80, pattern=r"^[A-Za-z0-9_.-]*$")


class StateSignature(Noun):
    """The performance state a method was applied in.

    The primary bottleneck is the roofline class, with the memory `level` that limits where memory
    does; `secondary` is the tool of the strongest finding. `stall` is what warps wait for most, by
    Nsight's name, and `arithmetic` what the hot loop computes with. What was not looked at is empty
    or unknown.
    """

    bound: BoundClass = "unknown"
    near_peak: bool = False
    level: MemoryLevel | None = None
    arithmetic: Arithmetic = "unknown"
    secondary: str = _NAME
    stall: str = _NAME

    def closeness(self, other: StateSignature) -> int:
        """How much alike two states are, from 0 to MAX_CLOSENESS.

        1: the same roofline class, both near their peak or both not. 2: the same memory level and
        arithmetic as well. 3: also the same secondary bottleneck and stall.
        """
        if (self.bound, self.near_peak) != (other.bound, other.near_peak):
            return 0
        if (self.level, self.arithmetic) != (other.level, other.arithmetic):
            return 1
        if (self.secondary, self.stall) != (other.secondary, other.stall):
            return 2
        return MAX_CLOSENESS

    def __str__(self) -> str:
        """``memory (DRAM), near its peak, fp32, coalescing, long_scoreboard``"""
        bound = f"{self.bound} ({self.level})" if self.level else self.bound
        near = "near its peak" if self.near_peak else ""
        arithmetic = "" if self.arithmetic == "unknown" else self.arithmetic
        return ", ".join(filter(None, [bound, near, arithmetic, self.secondary, self.stall]))


MAX_CLOSENESS = 3


class Lesson(Noun):
    """`gain` is the parent's time over the child's: above 1 the method helped.

    A `failed` outcome has no gain. `realised` says whether the method's instruction signature
    was seen in SASS; None if nobody looked. `undone`: the child did not apply the method but
    took it back; None if that could not be told. `among` is how many methods share the gain:
    which of them earned it is not known.
    """

    state: StateSignature
    method: str
    outcome: Outcome
    gain: float | None = None
    realised: bool | None = None
    undone: bool | None = None
    among: int = Field(default=1, ge=1)
