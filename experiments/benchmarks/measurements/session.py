"""A session of a study with a model: where it asks and measures, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcts.errors import InputError, WorldError
from mcts.options import JudgingOptions, ModelOptions

Show = Callable[[int, int], None]
"""Takes how many lines are done and how many there are."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What may differ from one session of a study to the next.

    model: where the model is asked. judging: who measures, and on which device. at_once: how much
    is asked side by side.
    """

    model: ModelOptions
    judging: JudgingOptions
    at_once: int


class CostCap:
    """What a study's lines have cost, under its cap."""

    def __init__(self, cap_usd: float | None, *, spent_usd: float) -> None:
        self._cap_usd, self._spent_usd = cap_usd, spent_usd

    def pay(self, cost_usd: float | None, *, replies: int) -> None:
        """Count a line. WorldError once the cap is reached, InputError if it cannot be kept."""
        self._spent_usd += cost_usd or 0.0
        if self._cap_usd is None:
            return
        if replies and cost_usd is None:
            raise InputError(
                "cost_usd cannot be kept: the cost of a reply is not known; give the model's price "
                "with --price MODEL=IN,OUT"
            )
        if self._spent_usd >= self._cap_usd:
            raise WorldError(
                f"{self._spent_usd:.2f} USD spent, the study's cap is {self._cap_usd:g}"
            )
