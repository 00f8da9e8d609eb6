"""What a memory says of each method, as rows for a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mcts.domain import StateSignature
from mcts.knowledge.base import Key, Knowledge
from mcts.knowledge.belief import Belief
from mcts.knowledge.contribution import Contribution
from mcts.knowledge.evidence import NOTHING, Evidence
from mcts.knowledge.moves import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceRow:
    """One act in one state: what was seen there, and what is expected by all that was seen."""

    state: StateSignature
    act: Act
    evidence: Evidence
    belief: Belief
    tasks: int

    @property
    def mean_gain(self) -> float | None:
        """Geometric mean of the gains seen, failures counted as losses; None without any."""
        return math.exp(self.evidence.mean) if self.evidence.count > 0 else None

    @property
    def expected(self) -> float:
        return math.exp(self.belief.mean)

    @property
    def low(self) -> float:
        """One predictive standard deviation below what is expected, as a gain."""
        return math.exp(self.belief.mean - self.belief.spread)

    @property
    def high(self) -> float:
        return math.exp(self.belief.mean + self.belief.spread)

    @property
    def predicted(self) -> float | None:
        """Geometric mean of the gains that had been predicted."""
        return self._of_predictions(self.evidence.predicted)

    @property
    def found(self) -> float | None:
        """Geometric mean of the measured gains for which one had been predicted."""
        return self._of_predictions(self.evidence.found)

    def _of_predictions(self, total: float) -> float | None:
        count = self.evidence.predictions
        return math.exp(total / count) if count else None

    def as_json(self) -> dict[str, object]:
        return {
            "state": self.state.model_dump(mode="json"),
            "method": self.act.method,
            "undone": self.act.undone,
            "tasks": self.tasks,
            "tried": self.evidence.tried,
            "improved": self.evidence.improved,
            "failed": self.evidence.failed,
            "unrealised": self.evidence.unrealised,
            "mean_gain": self.mean_gain,
            "expected_gain": self.expected,
            "low": self.low,
            "high": self.high,
            "predicted": self.predicted,
            "found": self.found,
        }


def experience_rows(
    contributions: Iterable[Contribution], *, every_state: bool = False
) -> list[ExperienceRow]:
    """Rows by state, what is expected most first; without `every_state`, states are told apart by
    their roofline class and whether they are near their peak alone.
    """
    knowledge = Knowledge.of(contributions)
    seen: dict[tuple[StateSignature, Act], list[tuple[Key, Evidence]]] = {}
    for key, found in knowledge.sums.items():
        state = key.state
        if not every_state:
            state = StateSignature(bound=state.bound, near_peak=state.near_peak)
        seen.setdefault((state, key.act), []).append((key, found))
    rows = [
        ExperienceRow(
            state=state,
            act=act,
            evidence=sum((found for _, found in parts), NOTHING),
            belief=knowledge.expect(state)[act].belief,
            tasks=len({key.task for key, _ in parts}),
        )
        for (state, act), parts in seen.items()
    ]
    return sorted(rows, key=lambda row: (str(row.state), row.act.undone, -row.expected, row.act))
