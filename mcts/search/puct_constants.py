"""The constants of the tree search; their defaults are tuned on recordings, by study."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PuctConstants:
    """Constants of selection, widening and pruning.

    far_proposals: how many children the root gets before anything else, each several changes away:
        a few looks around, from the best of which to go on in small steps.
    exploration: c of PUCT (Silver et al. 2017), on values in [0, 1].
    best_weight: share of the subtree's best in a node's value, the rest is its mean. We look for
        a maximum, but the best alone never leaves a line that leads no further.
    mean_after: trials after which the mean has half of its share. In short runs, by study, any of
        it costs evaluations; 0 gives it its whole share from the start.
    temperature: how fast a value below the best seen so far loses its weight, in units of reward.
    widening_root, widening_measured: k of k * N^alpha for the root and for other measured nodes.
    widening_exponent: alpha (Auger, Couetoux and Teytaud 2013).
    max_repairs: tries that a failed proposal's line gets, each on what the one before it left
        behind, before it is a dead end.
    repair_at_once: whether a fresh failure is repaired before the search goes elsewhere; otherwise
        failures wait for selection to come by, which it seldom does.
    stagnation: once the last `stagnation` trials of the run all brought nothing better than its
        best, every other one of the next is to be structurally different.
    expected_improvement: whether such a move may lead anywhere, to where the run's measurements
        promise the greatest improvement. Otherwise it stays around its node, and it is a node that
        stagnates, by its last children.
    patience: a node whose last `patience` children all brought nothing is a dead end.
    stop_near_peak: whether a node within 5 % of the speed of light is a dead end. Off: the last
        percent are found there.
    endgame: the last share of the trials in which exploration and widening fall to nothing; 0 is
        off. horizon: how many trials the run is meant to have; 0 takes the run's budget.
    """

    far_proposals: int = 4
    exploration: float = 0.05
    best_weight: float = 0.9
    mean_after: int = 400
    temperature: float = 0.05
    widening_root: float = 3.0
    widening_measured: float = 3.0
    widening_exponent: float = 0.5
    max_repairs: int = 2
    repair_at_once: bool = True
    stagnation: int = 4
    expected_improvement: bool = True
    patience: int = 12
    stop_near_peak: bool = False
    endgame: float = 0.0
    horizon: int = 0

    def __post_init__(self) -> None:
        if self.exploration < 0:
            raise ValueError(f"exploration is {self.exploration}: it must not be negative")
        if not 0 <= self.best_weight <= 1:
            raise ValueError(f"best_weight is {self.best_weight}: it lies in [0, 1]")
        if self.temperature <= 0:
            raise ValueError("temperature must be positive")
        if min(self.widening_root, self.widening_measured) <= 0:
            raise ValueError("widening factors must be positive")
        if not 0 < self.widening_exponent <= 1:
            raise ValueError("widening_exponent lies in (0, 1]")
        if min(self.max_repairs, self.far_proposals, self.mean_after, self.horizon) < 0:
            raise ValueError(
                "max_repairs, far_proposals, mean_after and horizon must not be negative"
            )
        if not 0 <= self.endgame <= 1:
            raise ValueError("endgame lies in [0, 1]")
        if min(self.patience, self.stagnation) < 1:
            raise ValueError("patience and stagnation are at least 1")

    def pace(self, asked: int) -> float:
        """What is left of exploration and widening after so many trials, from 1 down to 0."""
        if not self.endgame or not self.horizon:
            return 1.0
        return min(1.0, max(0.0, 1.0 - asked / self.horizon) / self.endgame)
