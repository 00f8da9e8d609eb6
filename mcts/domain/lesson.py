"""What memory keeps: in this state, this method brought that."""

from __future__ import annotations

from typing import Literal

from mcts.domain.base import Noun
from mcts.domain.profile import BoundClass

Outcome = Literal["improved", "neutral", "regressed", "failed"]


class StateSignature(Noun):
    """The performance state a method was applied in."""

    bound: BoundClass = "unknown"
    near_peak: bool = False


class Lesson(Noun):
    """`gain` is the parent's time over the child's: above 1 the method helped.

    A `failed` outcome has no gain. `realised` says whether the method's instruction signature
    was seen in SASS; None where nobody looked.
    """

    state: StateSignature
    method: str
    outcome: Outcome
    gain: float | None = None
    realised: bool | None = None
