"""The proposer without a model: moves over the tunables that a kernel declares.

It is the embedded default, the baseline that a language model has to beat, and what continuous
integration runs. All it knows comes from the request: guidance, lessons, what was tried.
"""

from __future__ import annotations

import math
import random
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.drawing import draw_untried
from codegen.scripted.encoded_space import TaskKey, encoded_space
from codegen.scripted.expected_improvement import most_promising
from codegen.scripted.rationale import candidate_at
from codegen.scripted.row_weights import row_weights
from mcts.errors import NoMoves
from mcts.knowledge.sampling import Sampling
from mcts.ports import Proposal, ProposalRequest


class ScriptedProposer:
    """Draws an untried configuration near the parent's: the closer and the better advised, the
    likelier.

    A tunable weighs otherwise for steps away from its default, which apply its methods, than for
    steps back, and each value by what the run's times say of it; `codegen.scripted.row_weights`
    makes the weight of a configuration of these. A far move is drawn at greater odds, whatever the
    number of tunables: most of them change, the advised ones likeliest; so is one that is to be
    structurally different, at lesser odds. Where such a move is to be far, it is a leap: not drawn
    around the parent, but to where in the whole space the run's times promise most. Where nothing
    advises it, its first moves are all far ones. `sampling` says how experience from other runs
    enters. Deterministic in `request.seed`; keeps caches but no state.
    """

    name = "scripted"
    inline = True

    def __init__(self, *, sampling: Sampling = "mean") -> None:
        self._sampling = sampling
        self._space = lru_cache(maxsize=16)(encoded_space)

    def propose(self, request: ProposalRequest) -> Proposal:
        """A neighbour of the parent. Raises NoMoves when the whole space was tried."""
        space = self._space(TaskKey(request.task), request.parent.source)
        if not space.lattice.names:
            raise NoMoves("the kernel declares no tunables, so there is nothing to move")
        rng = random.Random(request.seed)
        origin = space.lattice.encode(request.parent.tunables)
        pool = space.lattice.around(origin, rng)
        weights = row_weights(request, space, origin, pool, sampling=self._sampling)
        row = None
        if request.move.kind == "diversify" and request.move.far:
            row = most_promising(space, pool, request.history, tried=request.tried, rng=rng)
        leaps = row is not None
        if row is None:
            row = draw_untried(space, pool, weights.of_rows, tried=request.tried, rng=rng)
        moved = weights.of_values[np.arange(len(row)), row][origin != row]
        return Proposal(
            candidate=candidate_at(row, request, space, origin, leaps=leaps), prior=_prior(moved)
        )


def _prior(moved: NDArray[np.float64]) -> float:
    """1/2 for a single move of a tunable of average weight; less for each further change."""
    mean = math.exp(sum(math.log(weight) for weight in moved.tolist()) / len(moved))
    return min(0.95, max(0.05, mean / (1.0 + mean) * 0.9 ** (len(moved) - 1)))
