"""How likely each configuration is to be drawn: the product of what its changes weigh.

The weight of a configuration is the product over its changed tunables of (weight of the tunable) x
(weight of the step) / (number of tunables). Summed over a full product space that makes changes of
1, 2, 3... tunables as likely as 1, 1/2!, 1/3!...; if constraints forbid single steps, pairs and
far jumps take over by themselves, so every configuration can be reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.candidate_space import CandidateSpace
from codegen.scripted.effects import value_effects
from codegen.scripted.encoded_space import Mask, Rows
from codegen.scripted.step_size import step_size_of
from codegen.scripted.weights import MAX_WEIGHT, tunable_weights
from mcts.knowledge.belief import Sampling
from mcts.knowledge.moves import is_undone
from mcts.knowledge.states import state_of
from mcts.ports import ProposalRequest
from mcts.search.seeding import seed_from

Floats = NDArray[np.float64]

SEPARABLE_PAIR = 0.5
"""Factor on a pair whose two changes could as well be made one after the other."""
TOWARDS_DEFAULT = 4.0
"""In a repair: how much likelier a step towards the default is than one away from it."""
SIBLING_FADE = 0.5
"""How much a tunable fades once all of its single moves from this parent were tried."""


@dataclass(frozen=True, slots=True)
class RowWeights:
    """Of the rows of a pool, and of each value of each tunable."""

    of_rows: Floats
    of_values: Floats


def row_weights(
    request: ProposalRequest, space: CandidateSpace, origin: Rows, pool: Rows, *, sampling: Sampling
) -> RowWeights:
    """The weights of the rows of `pool`, none of which is `origin`, the parent's."""
    encoded = space.encoded
    step = step_size_of(request, encoded)
    tunables = _step_weights(request, space, origin, sampling)
    changed = pool != origin
    single = changed.sum(axis=1) == 1
    if not step.far:
        tunables = tunables * _fade(request, space, pool[single], changed[single])[:, None]
    effects = _effects(request, space)
    values = np.zeros_like(effects)
    factors = np.ones_like(values)
    for column, known in enumerate(encoded.values):
        at, default, count = int(origin[column]), int(encoded.defaults[column]), len(known)
        undone = [int(is_undone(at, there, default)) for there in range(count)]
        gained = np.exp(step.effect_exponent * (effects[column, :count] - effects[column, at]))
        values[column, :count] = tunables[column, undone] * gained.clip(1 / MAX_WEIGHT, MAX_WEIGHT)
        steps = _steps(count, at, default, request.move.kind == "repair", step.distance_exponent)
        factors[column, :count] = steps * values[column, :count] * step.change_odds
        factors[column, at] = 1.0
    rows = factors[np.arange(len(encoded.names)), pool].prod(axis=1)
    if not step.far:
        rows = rows * _coupling(space, pool, changed, single)
    return RowWeights(rows, values)


def _step_weights(
    request: ProposalRequest, space: CandidateSpace, origin: Rows, sampling: Sampling
) -> Floats:
    """Tunables x 2: the weights of steps away from the default and of steps back, around 1."""
    defaults = space.encoded.defaults
    if request.move.kind == "repair":
        # What differs from the safe default is what can have broken.
        suspects = np.where(origin != defaults, TOWARDS_DEFAULT, 1.0 / TOWARDS_DEFAULT)
        return np.repeat((suspects / suspects.mean())[:, None], 2, axis=1)
    advised = tunable_weights(
        space.tunables,
        guidance=request.guidance,
        state=state_of(request.guidance, request.profile),
        lessons=request.lessons,
        experience=request.experience,
        sampling=sampling,
        seed=seed_from(request.seed, "experience"),
    )
    tunables = np.array([advised[name] for name in space.encoded.names])
    # Where the parent has the default, nothing can be taken back.
    movable = np.where(origin == defaults, tunables[:, 0], tunables.mean(axis=1))
    around_one: Floats = tunables / movable.mean()
    return around_one


def _effects(request: ProposalRequest, space: CandidateSpace) -> Floats:
    """What this run's times say of each value; nothing if a failure is to be repaired."""
    values = space.encoded.values
    rows, log_speedups = space.observed(request.history)
    if not len(rows) or request.move.kind == "repair":
        return np.zeros((len(values), max(map(len, values))))
    return value_effects(values, rows, log_speedups)


def _steps(count: int, origin: int, default: int, repair: bool, exponent: float) -> Floats:
    """Weights of the values of one tunable, summing to 1 without the present value."""
    weights = [0.0 if at == origin else abs(at - origin) ** -exponent for at in range(count)]
    if repair:
        home = abs(origin - default)
        weights = [
            w * TOWARDS_DEFAULT if abs(at - default) < home else w for at, w in enumerate(weights)
        ]
    total = sum(weights)
    return np.array([w / total if total else 0.0 for w in weights])


def _fade(request: ProposalRequest, space: CandidateSpace, singles: Rows, changed: Mask) -> Floats:
    """Factors below 1 for tunables whose single moves were tried, so that later siblings move
    others.
    """
    tried = np.array([space.id_of(row) in request.tried for row in singles], dtype=bool)
    there = changed.sum(axis=0)
    gone = changed[tried].sum(axis=0) if len(singles) else there
    fade: Floats = 1.0 - SIBLING_FADE * gone / np.maximum(there, 1)
    return fade


def _coupling(space: CandidateSpace, pool: Rows, changed: Mask, single: Mask) -> Floats:
    """Halve pairs that share no method and whose two steps are allowed one by one."""
    reachable = np.zeros((pool.shape[1], pool.max(initial=0) + 1), dtype=np.bool_)
    for column in range(pool.shape[1]):
        reachable[column, pool[single & changed[:, column], column]] = True
    columns = np.arange(pool.shape[1])
    pair = np.flatnonzero(changed.sum(axis=1) == 2)
    moved = changed[pair]
    stepwise = (reachable[columns, pool[pair]] | ~moved).all(axis=1)
    related = ((moved @ space.related) & moved).any(axis=1)
    factors = np.ones(len(pool))
    factors[pair[stepwise & ~related]] = SEPARABLE_PAIR
    return factors
