"""Which problem of a suite gets the next trial, where all share one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Rule = Literal["equal", "gaining", "headroom", "gaining_then_headroom"]
WINDOW = 3
"""Trials over which a problem's gain is looked at."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a problem stands: its best speedup after each of its trials so far, 1 before.

    `floor` is how many times as fast as the baseline a call could be by the roofline; None where
    that is not known.
    """

    best: tuple[float, ...]
    floor: float | None = None

    @property
    def gain(self) -> float:
        """How much a trial gained lately: the mean logarithm over the last `WINDOW` trials."""
        last = self.best[-1]
        before = self.best[-1 - WINDOW] if len(self.best) > WINDOW else 1.0
        return math.log(last / before) / WINDOW

    @property
    def headroom(self) -> float:
        """Logarithm of what is left up to the floor; 0 where it was passed or is not known."""
        if self.floor is None:
            return 0.0
        return max(0.0, math.log(self.floor / self.best[-1]))


def next_problem(standings: Sequence[Standing], rule: Rule, *, most: int) -> int | None:
    """The index of the problem that gets the next trial; None if each has had `most`.

    equal: the one with the fewest trials. gaining: the one that gained most per trial lately.
    headroom: the one furthest from its floor. gaining_then_headroom: the one that gained most, and
    of those alike the one furthest from its floor. Ties: the fewest trials, then the first.
    """
    open_ones = [index for index, one in enumerate(standings) if len(one.best) < most]
    if not open_ones:
        return None

    def order(index: int) -> tuple[float, ...]:
        one = standings[index]
        fewest = -float(len(one.best))
        scores: dict[Rule, tuple[float, ...]] = {
            "equal": (),
            "gaining": (one.gain,),
            "headroom": (one.headroom,),
            "gaining_then_headroom": (one.gain, one.headroom),
        }
        return (*scores[rule], fewest, -float(index))

    return max(open_ones, key=order)
