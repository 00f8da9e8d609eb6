"""The proposer without a model: moves over the tunables that a kernel declares.

It is the embedded default, the baseline that a language model has to beat, and what continuous
integration runs. All it knows comes from the request: guidance, lessons, what was tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from codegen.scripted.candidate_space import CandidateSpace, TaskKey, candidate_space
from codegen.scripted.encoded_space import Rows
from codegen.scripted.expected_improvement import most_promising
from codegen.scripted.rationale import candidate_at
from codegen.scripted.row_weights import row_weights
from mcts.errors import NoMoves
from mcts.knowledge.belief import Sampling
from mcts.ports import Proposal, ProposalRequest, Proposer

_QUICK_DRAWS = 32


class ScriptedProposer(Proposer):
    """Draws an untried configuration near the parent's: the closer and the better advised, the
    likelier.

    The weight of a configuration (`codegen.scripted.row_weights`) is made of those of its tunables,
    one for steps away from the default, which apply the tunable's methods, and one for steps back,
    and of what the run's times say of each value. A far move is drawn at greater odds, whatever the
    number of tunables: most of them change, the advised ones likeliest; so is one that is to be
    structurally different, at lesser odds. If such a move is to be far, it is not drawn around the
    parent, but goes to where in the whole space the run's times promise most. If nothing advises
    it, its first moves are all far ones. `sampling` says how experience from other runs enters.
    Deterministic in `request.seed`; keeps caches but no state.
    """

    name = "scripted"
    inline = True

    def __init__(self, *, sampling: Sampling = "mean", implementations: bool = True) -> None:
        self._sampling, self._implementations = sampling, implementations
        self._space = lru_cache(maxsize=16)(candidate_space)

    def propose(self, request: ProposalRequest) -> Proposal:
        """A neighbour of the parent. Raises NoMoves when the whole space was tried."""
        with _blas().limit(limits=1, user_api="blas"):
            return self._propose(request)

    def _propose(self, request: ProposalRequest) -> Proposal:
        space = self._space(TaskKey(request.task), request.parent.source)
        if not space.encoded.names:
            raise NoMoves("the kernel declares no tunables, so there is nothing to move")
        rng = random.Random(request.seed)
        origin = space.encoded.encode(request.parent.tunables)
        pool = space.encoded.neighbourhood(origin, rng)
        if self._implementations and request.move.far and request.move.kind == "improve":
            pool = _other_implementation(
                space, origin, pool, request.move.ordinal, tried=request.tried
            )
        weights = row_weights(request, space, origin, pool, sampling=self._sampling)
        row = None
        if request.move.kind == "diversify" and request.move.far:
            row = most_promising(space, pool, request.history, tried=request.tried, rng=rng)
        by_times = row is not None
        if row is None:
            row = _draw_untried(space, pool, weights.of_rows, tried=request.tried, rng=rng)
        moved = weights.of_values[np.arange(len(row)), row][origin != row]
        return Proposal(
            candidate=candidate_at(row, request, space, origin, by_times=by_times),
            prior=_prior(moved),
        )


def _other_implementation(
    space: CandidateSpace, origin: Rows, pool: Rows, ordinal: int, *, tried: Container[str]
) -> Rows:
    """The rows of `pool` that run the `ordinal`-th of the other sequences of launches than
    `origin`; all of them if there are not so many, or all of its rows were tried.

    They are numbered as they are found in `pool`, which in a space too large to hold is a sample:
    an implementation may then be met twice there, or not.
    """
    own, launched = space.launches(origin[None, :]), space.launches(pool)
    distinct = np.unique(launched, axis=0)
    others = distinct[(distinct != own).any(axis=1)]
    if ordinal >= len(others):
        return pool
    chosen: Rows = pool[(launched == others[ordinal]).all(axis=1)]
    left = any(space.id_of(row) not in tried for row in chosen)
    return chosen if left else pool


@cache
def _blas() -> ThreadpoolController:
    """Limits the threads of matrix products: the matrices here are so small that one is fastest,
    and more of them slow down a search that runs on the same cores tenfold."""
    return ThreadpoolController()


def _prior(moved: NDArray[np.float64]) -> float:
    """1/2 for a single move of a tunable of average weight; less for each further change."""
    mean = math.exp(sum(math.log(weight) for weight in moved.tolist()) / len(moved))
    return min(0.95, max(0.05, mean / (1.0 + mean) * 0.9 ** (len(moved) - 1)))


def _draw_untried(
    space: CandidateSpace,
    pool: Rows,
    weights: NDArray[np.float64],
    *,
    tried: Container[str],
    rng: random.Random,
) -> Rows:
    """Draw an untried row of `pool` by weight; ids are computed only for rows that are drawn.

    Raises NoMoves if none is left.
    """
    left = np.ones(len(pool), dtype=np.bool_)
    for _ in range(_QUICK_DRAWS if len(pool) else 0):
        at = _weighted_position(weights, rng)
        if space.id_of(pool[at]) not in tried:
            chosen: Rows = pool[at]
            return chosen
        left[at] = False
        weights = np.where(left, weights, 0.0)
        if not weights.any():
            break
    for at, row in enumerate(pool):
        left[at] = left[at] and space.id_of(row) not in tried
    if not left.any():
        raise NoMoves("every configuration within reach was tried")
    untried: Rows = pool[left]
    last: Rows = untried[_weighted_position(weights[left], rng)]
    return last


def _weighted_position(weights: NDArray[np.float64], rng: random.Random) -> int:
    """A position with probability proportional to its weight."""
    sums = weights.cumsum()
    at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return min(at, len(weights) - 1)
