"""One observation that a run adds to what all runs know: immutable, and known by its content."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from pydantic import Field, model_validator

from mcts.domain.base import Noun, tagged_hash
from mcts.domain.lesson import Outcome, StateSignature

_LABEL = Field(max_length=200)
_METHOD = Field(max_length=80, pattern=r"^[A-Za-z0-9_.-]+$")
_GAIN = Field(default=None, gt=1e-9, lt=1e9, allow_inf_nan=False)


class Slot(NamedTuple):
    """What an observation is about; two contributions with the same slot tell of the same event."""

    run: str
    node: int
    method: str
    undone: bool


class Contribution(Noun):
    """What came of applying a method (or of taking it back: `undone`) at one node of one run.

    gain: the parent's time over the node's, None if the node failed. predicted: the gain that
    was expected before, None if nobody expected any. realised: whether machine code shows the
    method, None if nobody looked. among: how many methods share the gain.
    """

    run: str = Field(min_length=1, max_length=80)
    node: int = Field(ge=0, lt=2**31)
    task: str = _LABEL
    gpu: str = _LABEL
    proposer: str = _LABEL
    state: StateSignature
    method: str = _METHOD
    undone: bool = False
    among: int = Field(default=1, ge=1, le=1000)
    outcome: Outcome
    gain: float | None = _GAIN
    predicted: float | None = _GAIN
    realised: bool | None = None

    @model_validator(mode="after")
    def _outcome_fits_gain(self) -> Contribution:
        if (self.outcome == "failed") != (self.gain is None):
            raise ValueError("what failed has no gain, and all else has one")
        return self

    @cached_property
    def id(self) -> str:
        """Hash of the content."""
        return tagged_hash("contribution", self.model_dump(mode="json"), digits=32)

    @property
    def slot(self) -> Slot:
        return Slot(self.run, self.node, self.method, self.undone)


def newest(contributions: Iterable[Contribution]) -> list[Contribution]:
    """One contribution per slot, in an order that depends on their content alone.

    A run that is resumed, or whose methods are attributed later, says more about the same event: a
    contribution replaces another if fewer methods share its gain, or if it alone knows whether the
    method was realised. The greater id breaks ties, so that the order of merging does not matter.
    """
    best: dict[Slot, Contribution] = {}
    for one in contributions:
        other = best.get(one.slot)
        if other is None or _precedence(one) > _precedence(other):
            best[one.slot] = one
    return [best[slot] for slot in sorted(best)]


def _precedence(one: Contribution) -> tuple[int, bool, str]:
    return -one.among, one.realised is not None, one.id
