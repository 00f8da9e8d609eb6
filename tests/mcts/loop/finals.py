"""Toys that measure energy and confirm, and the loop over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcts.domain import Candidate, Energy, Evaluation, Refusal
from mcts.errors import WorldError
from mcts.loop.optimizer import Optimizer
from mcts.testing.toy import SPACE, MemoryJournal, ToyEvaluator, ToyProposer, toy_time_us
from tests.mcts.journal import paid


class ConfirmingToy(ToyEvaluator):
    """Confirms `share` of the speedup that the search saw; `fails` are refused then."""

    can_confirm = True

    def __init__(
        self,
        *,
        share: float = 0.98,
        fails: frozenset[str] | None = frozenset(),
        broken: bool = False,
    ) -> None:
        super().__init__()
        self.share, self.fails, self.broken = share, fails, broken
        self.confirmed: list[str] = []

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        if self.broken:
            raise WorldError("the GPU has fallen off the bus")
        self.confirmed.append(candidate.id)
        if self.fails is None or candidate.id in self.fails:
            refusal = Refusal(cheat="content_cache", evidence="answers from a table")
            return Evaluation(
                candidate_id=candidate.id,
                status="refused",
                message="answers from a table",
                refusal=refusal,
            )
        again = self.evaluate(candidate)
        assert again.timing is not None
        timing = again.timing.model_dump()
        for field in ("speedup", "speedup_low", "speedup_high"):
            timing[field] *= self.share
        return again.model_copy(update={"timing": type(again.timing).model_validate(timing)})


class EnergyToy(ConfirmingToy):
    """Energy by a formula: wide tiles save it, long unrolling costs it."""

    measures_energy = True

    def __init__(self, *, why_not: str | None = None) -> None:
        super().__init__(share=1.0)
        self.why_not = why_not
        self.metered: list[str] = []
        self.times: dict[str, float | None] = {}

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self.times[candidate.id] = toy_time_us(candidate.tunables)
        return super().evaluate(candidate)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        if self.why_not is not None:
            return evaluation.model_copy(update={"notes": (self.why_not,)})
        self.metered.append(candidate.id)
        mj, baseline_mj = toy_mj(candidate.tunables), toy_mj(SPACE.default())
        energy = Energy(
            energy_mj=mj,
            low_mj=mj * 0.999,
            high_mj=mj * 1.001,
            window_s=1.0,
            baseline_mj=baseline_mj,
        )
        return evaluation.model_copy(update={"energy": energy})


def toy_mj(tunables: Mapping[str, object]) -> float:
    tile, unroll = int(str(tunables["TILE"])), int(str(tunables["UNROLL"]))
    return 50.0 / tile**0.25 + unroll


def optimizer(
    journal: MemoryJournal, evaluator: ToyEvaluator, *, evaluations: int = 25, **options: Any
) -> Optimizer:
    return paid.optimizer(journal, ToyProposer(), evaluator, evaluations=evaluations, **options)
