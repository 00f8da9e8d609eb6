"""The search's constants, each with what it does; defaults are tuned on recordings, by study."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Constants of selection, widening and pruning.

    exploration: c of PUCT (Silver et al. 2017), on values in [0, 1].
    best_weight: share of the subtree's best in a node's value, the rest is its mean; we look for
        a maximum, not for an average.
    temperature: how fast a value below the best seen so far loses its weight, in units of reward.
    widening_root, widening_measured, widening_failed: k of k * N^alpha per state of the node.
    widening_exponent: alpha (Auger, Couetoux and Teytaud 2013).
    max_repairs: children a failed node may get before it is a dead end.
    stagnation: once the last `stagnation` children of a node all brought nothing, every other one
        of the next is to be structurally different.
    patience: a node whose last `patience` children all brought nothing is a dead end.
    """

    exploration: float = 0.05
    best_weight: float = 0.9
    temperature: float = 0.05
    widening_root: float = 3.0
    widening_measured: float = 3.0
    widening_failed: float = 1.0
    widening_exponent: float = 0.5
    max_repairs: int = 2
    stagnation: int = 4
    patience: int = 12

    def __post_init__(self) -> None:
        if self.exploration < 0 or not 0 <= self.best_weight <= 1:
            raise ValueError("exploration must not be negative and best_weight lies in [0, 1]")
        if self.temperature <= 0:
            raise ValueError("temperature must be positive")
        if min(self.widening_root, self.widening_measured, self.widening_failed) <= 0:
            raise ValueError("widening factors must be positive")
        if not 0 < self.widening_exponent <= 1:
            raise ValueError("widening_exponent lies in (0, 1]")
        if self.max_repairs < 0 or min(self.patience, self.stagnation) < 1:
            raise ValueError(
                "max_repairs must not be negative, patience and stagnation are at least 1"
            )
