"""Tunables chosen by what the same kernel's values were worth on other GPUs.

A Gaussian process over log speeds whose mean is a weighted sum of the log speeds that other GPUs
came to (a co-kriging with the sources as trend; Kennedy and O'Hagan, Predicting the output from a
complex computer code when fast approximations are available, Biometrika 87, 2000). The weights are
learned: they begin at equal shares and follow the run's own times as far as these speak, by the
marginal likelihood. Where another GPU misleads, its weight goes to nothing; but a process that was
misled is too sure of what it has not seen, and stays where it is. So while a run gains nothing,
every other trial is a move of the scripted proposer from where the search wants to go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.effects import value_covariance
from codegen.scripted.encoded_space import EncodedSpace, Rows
from codegen.scripted.expected_improvement import (
    CHANGE_COVARIANCE,
    MARGIN,
    NOISE,
    covariance,
    improvement,
)
from codegen.scripted.proposer import ScriptedProposer
from codegen.scripted.uniform import LatticeKey, candidate_of
from mcts.domain import declared_space
from mcts.domain.tunables import ConfigurationKey, configuration_key
from mcts.errors import InputError, NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer

Floats = NDArray[np.float64]

SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations, in log speed, of what the other GPUs do not explain, to choose from."""
DOUBTS = (0.0, 0.3, 1.0)
"""Standard deviations of the weights about equal shares, to choose from: 0 believes in these."""
LEAST_GAIN = 1e-4
"""Expected gains in log speed below this are none: then what is expected to be fastest comes."""
LEVEL = 2.0
"""Standard deviation of this GPU's level in log speed, of which nothing is known."""
PATIENCE = 8
"""Trials without a gain after which every other one is a scripted move."""
GAIN = 1.005
"""By how much a variant must be faster than the best before it to count as a gain."""
_LEAST_VARIANCE = 1e-8
_MOST_HISTORY = 256


@dataclass(frozen=True, slots=True)
class Source:
    """What was recorded on another GPU: times in any one unit, by configuration; failures are
    missing.
    """

    name: str
    times: Mapping[ConfigurationKey, float]


@dataclass(frozen=True, slots=True)
class Belief:
    """What is expected of the rows of a space, in log speed, and what each source weighs."""

    mean: Floats
    deviation: Floats
    weights: Floats


class TransferProposer(Proposer):
    """The configuration of the greatest expected improvement, given other GPUs' times; while the
    run gains nothing for `patience` trials, every other one is a scripted move from the parent.

    But for these moves, whatever the search asks to go on from, it looks at all that the run has
    judged.
    """

    name = "transfer"
    inline = True

    def __init__(self, sources: Sequence[Source], *, patience: int = PATIENCE) -> None:
        if not sources:
            raise InputError("--proposer transfer needs --prior RECORDING, of another GPU")
        self._sources, self._patience = tuple(sources), patience
        self._near = ScriptedProposer()
        self._ground = lru_cache(maxsize=16)(self._ground_of)

    def propose(self, request: ProposalRequest) -> Proposal:
        """Raises NoMoves when everything was tried, InputError if no source knows the space."""
        idle = _trials_without_gain(request) - self._patience
        if idle >= 0 and idle % 2 == 0:
            with suppress(NoMoves):
                return self._near.propose(request)
        ground = self._ground(LatticeKey(request.task, request.parent.source))
        rows, log_speeds = ground.observed(request)
        belief = ground.believe(rows, log_speeds)
        best = float(np.nanmax(log_speeds)) if len(log_speeds) else 0.0
        gains = improvement(belief.mean - best, belief.deviation)
        gains[gains < LEAST_GAIN] = 0.0
        for at in np.lexsort((-belief.mean, -gains)):
            candidate = candidate_of(ground.lattice, ground.lattice_rows[at], request)
            if candidate.id not in request.tried and candidate.id != request.parent.id:
                told = ", ".join(
                    f"{source.name} {weight:.2f}"
                    for source, weight in zip(self._sources, belief.weights, strict=True)
                )
                why = f"other GPUs' times, each by what it has been worth in this run: {told}"
                return Proposal(candidate=candidate.model_copy(update={"rationale": why}))
        raise NoMoves("every configuration within reach was tried")

    def _ground_of(self, key: LatticeKey) -> Ground:
        return Ground(EncodedSpace(declared_space(key.task, key.source), key.task), self._sources)


def _trials_without_gain(request: ProposalRequest) -> int:
    """How many candidates were judged since the last that was clearly the fastest so far."""
    best, since = 0.0, 0
    for attempt in request.history:
        speedup = attempt.evaluation.speedup if attempt.evaluation is not None else None
        since += 1
        if speedup is not None and speedup > best * GAIN:
            best, since = speedup, 0
    return since


class Ground:
    """A space with the log speeds of other GPUs at each of its rows."""

    def __init__(self, lattice: EncodedSpace, sources: Sequence[Source]) -> None:
        if not lattice.names:
            raise NoMoves("the kernel declares no tunables, so there is nothing to move")
        if lattice.rows is None:
            raise InputError("--proposer transfer takes spaces of up to 20,000 configurations")
        self.lattice, self.lattice_rows = lattice, lattice.rows
        keys = [configuration_key(lattice.decode(row)) for row in lattice.rows]
        self._at = {tuple(row): at for at, row in enumerate(lattice.rows.tolist())}
        self._speeds = np.stack([_log_speeds(source, keys) for source in sources], axis=1)
        self._alike = [
            1.0 - CHANGE_COVARIANCE + CHANGE_COVARIANCE * value_covariance(values)
            for values in lattice.values
        ]

    def observed(self, request: ProposalRequest) -> tuple[Rows, Floats]:
        """The rows judged so far and their log speeds, with failures as the worst of them."""
        seen = [(request.parent, request.evaluation)]
        seen += [
            (attempt.candidate, attempt.evaluation)
            for attempt in (*request.history[-_MOST_HISTORY:], *request.siblings)
            if attempt.candidate is not None and attempt.evaluation is not None
        ]
        found: dict[int, float] = {}
        for candidate, evaluation in seen:
            if candidate.source != request.parent.source:
                continue
            at = self._at.get(tuple(self.lattice.encode(candidate.tunables).tolist()))
            if at is not None:
                speedup = evaluation.speedup
                found[at] = np.nan if speedup is None else float(np.log(speedup))
        speeds = _floored(np.array(list(found.values()), dtype=np.float64))
        return np.array(list(found), dtype=np.int64), speeds

    def believe(self, at: Rows, log_speeds: Floats) -> Belief:
        """What to expect of every row, after those at positions `at` came to `log_speeds`."""
        shares = np.full(self._speeds.shape[1], 1.0 / self._speeds.shape[1])
        if not len(at):
            ignorance = np.full(len(self._speeds), max(SPREADS))
            return Belief(self._speeds @ shares, ignorance, shares)
        rows, own = self.lattice_rows[at], self._speeds[at]
        unexplained = log_speeds - own @ shares
        alike = covariance(self._alike, rows, rows) + NOISE * np.eye(len(at))
        spread, doubt, factor = _likeliest(alike, own, unexplained)
        solved = np.linalg.solve(factor.T, np.linalg.solve(factor, unexplained))
        shared = (
            spread**2 * covariance(self._alike, rows, self.lattice_rows)
            + LEVEL**2
            + doubt**2 * own @ self._speeds.T
        )
        left = np.linalg.solve(factor, shared)
        variance = (
            spread**2 * (1 + NOISE)
            + LEVEL**2
            + doubt**2 * (self._speeds**2).sum(axis=1)
            - (left**2).sum(axis=0)
        )
        return Belief(
            mean=self._speeds @ shares + shared.T @ solved,
            deviation=np.sqrt(np.maximum(variance, _LEAST_VARIANCE)),
            weights=shares + doubt**2 * own.T @ solved,
        )


def _likeliest(alike: Floats, own: Floats, unexplained: Floats) -> tuple[float, float, Floats]:
    """The spread and the doubt under which what was seen is most likely, and the Cholesky factor
    of its covariance under them.
    """
    best: tuple[float, float, float, Floats] | None = None
    for spread in SPREADS:
        for doubt in DOUBTS:
            known = spread**2 * alike + LEVEL**2 + doubt**2 * own @ own.T
            factor = _factor(known)
            solved = np.linalg.solve(factor, unexplained)
            likelihood = -0.5 * float(solved @ solved) - float(np.log(np.diag(factor)).sum())
            if best is None or likelihood > best[0]:
                best = likelihood, spread, doubt, factor
    assert best is not None, "there are spreads and doubts to choose from"
    return best[1:]


def _factor(covariances: Floats) -> Floats:
    """The Cholesky factor, on the diagonal of which a little is added."""
    raised = covariances + _LEAST_VARIANCE * np.eye(len(covariances))
    factor: Floats = np.linalg.cholesky(raised).astype(np.float64)
    return factor


def _log_speeds(source: Source, keys: Sequence[ConfigurationKey]) -> Floats:
    """0 for the fastest, negative for the others; `-MARGIN` for what failed, is slower still, or
    is not known.
    """
    times = np.array([source.times.get(key, np.nan) for key in keys], dtype=np.float64)
    if np.isnan(times).all():
        raise InputError(f"--prior: {source.name} holds no configuration of this kernel")
    speeds: Floats = _floored(-np.log(times))
    behind: Floats = speeds - float(speeds.max())
    return behind


def _floored(log_speeds: Floats) -> Floats:
    """What failed or is far behind the best counts as `MARGIN` behind it."""
    if not len(log_speeds) or np.isnan(log_speeds).all():
        return np.zeros_like(log_speeds)
    floor = float(np.nanmax(log_speeds)) - MARGIN
    floored: Floats = np.where(np.isnan(log_speeds), floor, np.maximum(log_speeds, floor))
    return floored
