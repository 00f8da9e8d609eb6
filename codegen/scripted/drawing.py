"""Drawing rows by weight, until one comes that was not tried."""

from __future__ import annotations

import random
from collections.abc import Container

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.encoded_space import EncodedSpace
from codegen.scripted.lattice import Rows
from mcts.errors import NoMoves

_QUICK_DRAWS = 32


def draw_untried(
    space: EncodedSpace,
    pool: Rows,
    weights: NDArray[np.float64],
    *,
    tried: Container[str],
    rng: random.Random,
) -> Rows:
    """An untried row of `pool`; ids are computed only for rows looked at.

    Raises NoMoves if none is left.
    """
    alive = np.ones(len(pool), dtype=np.bool_)
    for _ in range(_QUICK_DRAWS if len(pool) else 0):
        at = _pick(weights, rng)
        if space.id_of(pool[at]) not in tried:
            chosen: Rows = pool[at]
            return chosen
        alive[at] = False
        weights = np.where(alive, weights, 0.0)
        if not weights.any():
            break
    for at, row in enumerate(pool):
        alive[at] = alive[at] and space.id_of(row) not in tried
    if not alive.any():
        raise NoMoves("every configuration within reach was tried")
    left: Rows = pool[alive]
    last: Rows = left[_pick(weights[alive], rng)]
    return last


def _pick(weights: NDArray[np.float64], rng: random.Random) -> int:
    """A position with probability proportional to its weight."""
    sums = weights.cumsum()
    at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return min(at, len(weights) - 1)
