"""The proposer without a model: moves over the tunables that a kernel declares.

It is the embedded default, the baseline that a language model has to beat, and what continuous
integration runs. All it knows comes from the request: guidance, lessons, what was tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from codegen.effects import value_effects
from codegen.lattice import Lattice, Rows
from codegen.leaps import expected_gains
from codegen.playbook import method_name
from codegen.weights import MOST, tunable_weights
from mcts.domain import (
    Candidate,
    Guidance,
    KernelTask,
    Scalar,
    TunableSpace,
    declared_space,
)
from mcts.errors import NoMoves
from mcts.knowledge.moves import is_undone
from mcts.knowledge.sampling import Sampling
from mcts.knowledge.states import state_of
from mcts.ports import Proposal, ProposalRequest
from mcts.seeding import seed_from

STEP_REACH = 1.0
"""A value d positions away weighs d ** -STEP_REACH: near ones first, yet without a scale, so that a
tunable of thirty values is crossed about as soon as one of four."""
STEPWISE = 0.5
"""Factor on a pair whose two changes could as well be made one after the other."""
HOMEWARD = 4.0
"""In a repair: how much likelier a step towards the default is than one away from it."""
FAR_REACH = 0.3
"""STEP_REACH of a far proposal."""
FAR_ODDS = 2.0
"""In a far proposal: the odds that a tunable of average weight changes."""
SIBLING_FADE = 0.5
"""How much a tunable fades once all of its single moves from this parent were tried."""
HINDSIGHT = 1.5
"""Exponent on what a value brings by this run's times, in standard deviations of log speedup."""
ADVISED_HINDSIGHT = 0.7
"""The same where the tools advise."""
DIVERSE_ODDS = 0.5
"""FAR_ODDS of a move that is to be structurally different; there, what the run's times say counts
as if nothing advised: what the tools said has led no further."""
MOST_HISTORY = 128
"""So many of the latest candidates have a say in that."""
LOOKS = 1.0
"""Without any advice, so many proposals for each halving of the space are far ones, wherever they
start: 9 in a space of 500 configurations, 14 in one of 16,000."""
MOST_LOOKED_AT = 4096
"""Out of larger spaces a leap chooses among so many configurations, drawn evenly."""
_QUICK_DRAWS = 32


@dataclass(slots=True)
class _Ground:
    """A space in both its forms, with what was computed so far of the candidates of one source:
    ids by row, and rows by id."""

    space: TunableSpace
    lattice: Lattice
    shared: NDArray[np.bool_]
    """shared[i, j]: tunables i and j exercise a common method."""
    ids: dict[tuple[int, ...], str] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)


class ScriptedProposer:
    """Draws an untried configuration near the parent's: the closer and the better advised, the
    likelier.

    The weight of a configuration is the product over its changed tunables of (weight of the
    tunable) x (weight of the step) / (number of tunables). Summed over a full product space that
    makes changes of 1, 2, 3... tunables as likely as 1, 1/2!, 1/3!...; where constraints forbid
    single steps, pairs and far jumps take over by themselves, so every configuration can be
    reached. A tunable weighs otherwise for steps away from its default, which apply its methods,
    than for steps back, and each value by what the run's times say of it. A far move is drawn
    without the division, at greater odds: most tunables change, the advised ones likeliest; so is
    one that is to be structurally different, at lesser odds. Where such a move is to be far, it is
    a leap: not drawn around the parent, but to where in the whole space the run's times promise
    most. Where nothing advises it, its first moves are all far ones. `sampling` says how experience
    from other runs enters. Deterministic in `request.seed`; keeps caches but no state.
    """

    name = "scripted"
    inline = True

    def __init__(self, *, sampling: Sampling = "mean") -> None:
        self._sampling = sampling
        self._ground = lru_cache(maxsize=16)(_break_ground)

    def propose(self, request: ProposalRequest) -> Proposal:
        """A neighbour of the parent. Raises NoMoves when the whole space was tried."""
        source = request.parent.source
        ground = self._ground(_TaskKey(request.task), source)
        if not ground.lattice.names:
            raise NoMoves("the kernel declares no tunables, so there is nothing to move")
        rng = random.Random(request.seed)
        origin = ground.lattice.encode(request.parent.tunables)
        pool = ground.lattice.around(origin, rng)
        weights = _weigh(request, ground, origin, pool, self._sampling)
        leap = _leap(request, ground, pool, rng) if _leaps(request) else None
        row = _draw_untried(request, ground, pool, weights.of_rows, rng) if leap is None else leap
        return _proposal(request, ground, origin, row, weights.of_values, leaps=leap is not None)


@dataclass(frozen=True, slots=True)
class _TaskKey:
    """Lets a task be a cache key by its id, and by which combinations exist."""

    task: KernelTask = field(compare=False)
    id: str = ""
    rows: frozenset[tuple[Scalar, ...]] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.task.id)
        object.__setattr__(self, "rows", self.task.space.row_set)


def _break_ground(key: _TaskKey, source: str) -> _Ground:
    space = declared_space(key.task, source)
    methods = [set(tunable.methods) for tunable in space.tunables.values()]
    shared = np.array([[bool(a & b) for b in methods] for a in methods], dtype=np.bool_)
    if methods:
        np.fill_diagonal(shared, False)
    return _Ground(space=space, lattice=Lattice(space, key.task), shared=shared)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of the rows of a pool, and of each value of each tunable."""

    of_rows: NDArray[np.float64]
    of_values: NDArray[np.float64]


def _weigh(
    request: ProposalRequest, ground: _Ground, origin: Rows, pool: Rows, sampling: Sampling
) -> _Weights:
    lattice = ground.lattice
    advised = tunable_weights(
        ground.space.tunables,
        guidance=request.guidance,
        state=state_of(request.guidance, request.profile),
        lessons=request.lessons,
        experience=request.experience,
        sampling=sampling,
        seed=seed_from(request.seed, "experience"),
    )
    pulls = np.array([advised[name] for name in lattice.names])
    # Where the parent has the default, nothing can be taken back.
    pulls = pulls / np.where(origin == lattice.defaults, pulls[:, 0], pulls.mean(axis=1)).mean()
    repair = request.move.kind == "repair"
    if repair:
        # What differs from the safe default is what can have broken.
        suspects = np.where(origin != lattice.defaults, HOMEWARD, 1.0 / HOMEWARD)
        pulls = np.repeat((suspects / suspects.mean())[:, None], 2, axis=1)
    elsewhere = request.move.kind == "diversify"
    far = request.move.far or elsewhere or _blind(request, lattice)
    changed = pool != origin
    single = changed.sum(axis=1) == 1
    if not far:
        pulls = pulls * _fade(request, ground, pool[single], changed[single])[:, None]
    share = DIVERSE_ODDS if elsewhere else FAR_ODDS if far else 1.0 / len(lattice.names)
    effects = _effects(request, ground)
    hindsight = ADVISED_HINDSIGHT if _advised(request) and not elsewhere else HINDSIGHT
    values = np.zeros_like(effects)
    factors = np.ones_like(values)
    for column, known in enumerate(lattice.values):
        at, default, count = int(origin[column]), int(lattice.defaults[column]), len(known)
        undone = [int(is_undone(at, there, default)) for there in range(count)]
        gained = np.exp(hindsight * (effects[column, :count] - effects[column, at]))
        values[column, :count] = pulls[column, undone] * gained.clip(1 / MOST, MOST)
        steps = _steps(count, at, default, repair, FAR_REACH if far else STEP_REACH)
        factors[column, :count] = steps * values[column, :count] * share
        factors[column, at] = 1.0
    rows = factors[np.arange(len(lattice.names)), pool].prod(axis=1)
    if not far:
        rows = rows * _coupling(ground, pool, changed, single)
    return _Weights(rows, values)


def _advised(request: ProposalRequest) -> bool:
    """Whether the tools say where to go: a finding, or what limits the parent."""
    roofline = request.guidance.roofline
    known = roofline is not None and roofline.bound != "unknown"
    return known or bool(request.guidance.findings)


def _blind(request: ProposalRequest, lattice: Lattice) -> bool:
    """Whether nothing is known yet that says where to go: no advice, and too few times."""
    if _advised(request) or request.move.kind == "repair":
        return False
    return 0 < len(request.history) <= LOOKS * lattice.halvings


def _effects(request: ProposalRequest, ground: _Ground) -> NDArray[np.float64]:
    """What this run's times say of each value; nothing where a failure is to be repaired."""
    lattice = ground.lattice
    rows, log_speedups = _judged(request, ground)
    if not len(rows) or request.move.kind == "repair":
        return np.zeros((len(lattice.names), max(map(len, lattice.values))))
    return value_effects(lattice.values, rows, log_speedups)


def _judged(request: ProposalRequest, ground: _Ground) -> tuple[Rows, NDArray[np.float64]]:
    """The latest configurations of the parent's source that were judged, as rows, and their log
    speedups, NaN for what failed."""
    source = request.parent.source
    seen = [
        (_row_of(ground, one.candidate), one.evaluation.speedup or math.nan)
        for one in request.history[-MOST_HISTORY:]
        if one.candidate and one.evaluation and one.candidate.source == source
    ]
    rows = np.array([row for row, _ in seen], dtype=np.int64)
    return rows, np.log(np.array([speedup for _, speedup in seen], dtype=np.float64))


def _leaps(request: ProposalRequest) -> bool:
    return request.move.kind == "diversify" and request.move.far


def _leap(request: ProposalRequest, ground: _Ground, pool: Rows, rng: random.Random) -> Rows | None:
    """The untried row of `pool` of the greatest expected gain; None where the run's times say
    nothing, or nothing is left."""
    rows, log_speedups = _judged(request, ground)
    if len(pool) > MOST_LOOKED_AT:
        pool = pool[rng.sample(range(len(pool)), MOST_LOOKED_AT)]
    gains = expected_gains(ground.lattice.values, rows, log_speedups, pool)
    if gains is None:
        return None
    source = request.parent.source
    best_first = (pool[at] for at in np.argsort(-gains, kind="stable"))
    return next(
        (row for row in best_first if _id_of(ground, source, row) not in request.tried), None
    )


def _row_of(ground: _Ground, candidate: Candidate) -> Rows:
    found = ground.rows.get(candidate.id)
    if found is None:
        found = ground.rows[candidate.id] = ground.lattice.encode(candidate.tunables)
    return found


def _steps(
    count: int, origin: int, default: int, repair: bool, reach: float
) -> NDArray[np.float64]:
    """Weights of the values of one tunable, summing to 1 without the present value."""
    weights = [0.0 if at == origin else abs(at - origin) ** -reach for at in range(count)]
    if repair:
        home = abs(origin - default)
        weights = [w * HOMEWARD if abs(at - default) < home else w for at, w in enumerate(weights)]
    total = sum(weights)
    return np.array([w / total if total else 0.0 for w in weights])


def _fade(
    request: ProposalRequest, ground: _Ground, singles: Rows, changed: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Factors that turn later siblings to tunables which earlier ones did not move."""
    tried = np.array(
        [_id_of(ground, request.parent.source, row) in request.tried for row in singles], dtype=bool
    )
    there = changed.sum(axis=0)
    gone = changed[tried].sum(axis=0) if len(singles) else there
    fade: NDArray[np.float64] = 1.0 - SIBLING_FADE * gone / np.maximum(there, 1)
    return fade


def _coupling(
    ground: _Ground, pool: Rows, changed: NDArray[np.bool_], single: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Halve pairs that share no method and whose two steps are allowed one by one."""
    reachable = np.zeros((pool.shape[1], pool.max(initial=0) + 1), dtype=np.bool_)
    for column in range(pool.shape[1]):
        reachable[column, pool[single & changed[:, column], column]] = True
    columns = np.arange(pool.shape[1])
    stepwise = (reachable[columns, pool] | ~changed).all(axis=1)
    related = ((changed @ ground.shared) & changed).any(axis=1)
    pair = changed.sum(axis=1) == 2
    return np.where(pair & stepwise & ~related, STEPWISE, 1.0)


def _draw_untried(
    request: ProposalRequest,
    ground: _Ground,
    pool: Rows,
    weights: NDArray[np.float64],
    rng: random.Random,
) -> Rows:
    """Draw rows by weight until one is untried; ids are computed only for rows looked at."""
    source = request.parent.source
    alive = np.ones(len(pool), dtype=np.bool_)
    for _ in range(_QUICK_DRAWS if len(pool) else 0):
        at = _pick(weights, rng)
        if _id_of(ground, source, pool[at]) not in request.tried:
            chosen: Rows = pool[at]
            return chosen
        alive[at] = False
        weights = np.where(alive, weights, 0.0)
        if not weights.any():
            break
    for at, row in enumerate(pool):
        alive[at] = alive[at] and _id_of(ground, source, row) not in request.tried
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


def _id_of(ground: _Ground, source: str, row: Rows) -> str:
    key = tuple(row.tolist())
    found = ground.ids.get(key)
    if found is None:
        found = Candidate(source=source, tunables=ground.lattice.decode(row)).id
        ground.ids[key] = found
    return found


def _proposal(
    request: ProposalRequest,
    ground: _Ground,
    origin: Rows,
    row: Rows,
    weights: NDArray[np.float64],
    *,
    leaps: bool,
) -> Proposal:
    lattice = ground.lattice
    before, after = lattice.decode(origin), lattice.decode(row)
    moved = [name for name in lattice.names if before[name] != after[name]]
    undone = {
        name: is_undone(*map(int, step))
        for name, *step in zip(lattice.names, origin, row, lattice.defaults, strict=True)
    }
    methods = _methods(ground, [name for name in moved if not undone[name]])
    back = _methods(ground, [name for name in moved if undone[name]], besides=methods)
    steps = ", ".join(f"{name} {before[name]} -> {after[name]}" for name in moved)
    named = [*map(method_name, methods), *_taken_back(ground, back, after)]
    candidate = Candidate(
        source=request.parent.source,
        tunables=after,
        methods=methods,
        rationale=steps + _because(request, named, methods, leaps=leaps),
    )
    return Proposal(
        candidate=candidate, prior=_prior(weights[np.arange(len(row)), row][origin != row])
    )


def _methods(
    ground: _Ground, names: list[str], *, besides: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The methods that these tunables exercise."""
    named = chain.from_iterable(ground.space.tunables[name].methods for name in names)
    return tuple(dict.fromkeys(method for method in named if method not in besides))


def _taken_back(
    ground: _Ground, methods: tuple[str, ...], present: Mapping[str, Scalar]
) -> list[str]:
    """In words: without a method where all of its tunables stand at their defaults, else less."""
    standing = {
        method
        for name, tunable in ground.space.tunables.items()
        for method in tunable.methods
        if present[name] != tunable.default
    }
    return [f"{'less' if one in standing else 'without'} {method_name(one)}" for one in methods]


def _because(
    request: ProposalRequest, named: list[str], methods: tuple[str, ...], *, leaps: bool
) -> str:
    """`: what changed in words, and which finding suggests the methods, or that the times do`."""
    names = ", ".join(named)
    if request.move.kind == "repair":
        names = f"repair of {request.evaluation.status.replace('_', ' ')}"
    tool = None if leaps else _strongest_tool(request.guidance, methods)
    why = ", where this run's times promise most" if leaps else ""
    return (f": {names}" if names else "") + (f", as {tool} suggests" if tool else why)


def _strongest_tool(guidance: Guidance, methods: tuple[str, ...]) -> str | None:
    pointing = [found for found in guidance.findings if set(found.methods) & set(methods)]
    return max(pointing, key=lambda found: found.strength).tool if pointing else None


def _prior(moved: NDArray[np.float64]) -> float:
    """1/2 for a single move of a tunable of average weight; less for each further change."""
    mean = math.exp(sum(math.log(weight) for weight in moved.tolist()) / len(moved))
    return min(0.95, max(0.05, mean / (1.0 + mean) * 0.9 ** (len(moved) - 1)))
