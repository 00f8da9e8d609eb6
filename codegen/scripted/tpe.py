"""Optuna's TPE as a proposer over a task's tunables; needs the extra [optuna].

Bergstra, Bardenet, Bengio and Kegl, Algorithms for Hyper-Parameter Optimization (NIPS 2011). It
goes with the search `best_of_n`: all of its proposals are children of the baseline, so that the
siblings in a request are all that it has seen, and it keeps no state of its own.
"""

from __future__ import annotations

import importlib
import math
import random
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from codegen.scripted.encoded_space import EncodedSpace, Rows
from codegen.scripted.uniform import LatticeKey, candidate_of, draw_untried
from mcts.domain import Evaluation, Scalar, Tunable, declared_space
from mcts.errors import InputError, NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.requests import ProposerRequest

_SUGGESTIONS = 3
"""How often the sampler is asked before the nearest untried configuration is taken instead."""
_STARTUP = 10
"""Proposals at random before the first from the model; Optuna's own default."""
_FAILED = 10.0
"""Log time of a failure, in the logarithm of the baseline's: worse than whatever works."""


class TpeProposer(Proposer):
    """Asks the sampler for a configuration that is allowed and untried.

    Constraints are known to it as they are to the scripted proposer: a suggestion that they forbid
    costs nothing; where its suggestions go on being forbidden or tried, the nearest configuration
    that is neither is taken. Numbers are suggested by their position among the declared values, so
    that the sampler knows their order; text is categorical. Failures are told as very slow.
    Deterministic in `request.seed`.
    """

    name = "tpe"
    inline = True

    def __init__(self) -> None:
        self._optuna = _import_optuna()
        self._ground = lru_cache(maxsize=16)(_Ground)

    def propose(self, request: ProposalRequest) -> Proposal:
        """Raises NoMoves when everything was tried."""
        ground = self._ground(LatticeKey(request.task, request.parent.source))
        if not ground.lattice.names:
            raise NoMoves("the kernel declares no tunables, so there is nothing to move")
        rng, barred = random.Random(request.seed), request.tried | {request.parent.id}
        if len(request.siblings) < _STARTUP:
            return Proposal(candidate=draw_untried(ground.lattice, request, rng))
        study, row = self._study(request, ground), ground.lattice.defaults
        for _ in range(_SUGGESTIONS):
            row = ground.suggest(study.ask(ground.distributions(self._optuna)))
            candidate = candidate_of(ground.lattice, row, request)
            if candidate.id not in barred and ground.allows(row):
                return Proposal(candidate=candidate)
        return Proposal(candidate=draw_untried(ground.lattice, request, rng, near=row))

    def _study(self, request: ProposalRequest, ground: _Ground) -> Any:
        """Everything measured so far as the sampler's trials."""
        optuna = self._optuna
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            seed = request.seed % (1 << 32)
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        study = optuna.create_study(sampler=sampler)
        seen = [(request.parent, request.evaluation)]
        seen += [
            (attempt.candidate, attempt.evaluation)
            for attempt in request.siblings
            if attempt.candidate is not None and attempt.evaluation is not None
        ]
        distributions = ground.distributions(optuna)
        study.add_trials(
            [
                optuna.trial.create_trial(
                    params=ground.encode(candidate.tunables),
                    distributions=distributions,
                    value=_value(evaluation),
                )
                for candidate, evaluation in seen
            ]
        )
        return study


class _Ground:
    """A space in the sampler's terms."""

    def __init__(self, key: LatticeKey) -> None:
        space = declared_space(key.task, key.source)
        self.lattice = EncodedSpace(space, key.task)
        self._tunables = space.tunables
        rows = self.lattice.rows
        self._allowed = None if rows is None else {tuple(row) for row in rows.tolist()}

    def allows(self, row: Rows) -> bool:
        if self._allowed is not None:
            return tuple(row.tolist()) in self._allowed
        return bool(self.lattice.allowed(row.reshape(1, -1))[0])

    def encode(self, configuration: Mapping[str, Scalar]) -> dict[str, Any]:
        """A configuration as the sampler's parameters."""
        row = self.lattice.encode(configuration).tolist()
        return {
            name: at if _ordered(tunable) else str(at)
            for (name, tunable), at in zip(self._tunables.items(), row, strict=True)
        }

    def suggest(self, trial: Any) -> Rows:
        """The sampler's suggestion as a row of the lattice."""
        return np.array([int(trial.params[name]) for name in self._tunables], dtype=np.int64)

    def distributions(self, optuna: Any) -> dict[str, Any]:
        kinds = optuna.distributions
        return {
            name: kinds.IntDistribution(0, len(tunable.values) - 1)
            if _ordered(tunable)
            else kinds.CategoricalDistribution([str(at) for at in range(len(tunable.values))])
            for name, tunable in self._tunables.items()
        }


def _ordered(tunable: Tunable) -> bool:
    return all(isinstance(value, int | float) for value in tunable.values)


def _value(evaluation: Evaluation) -> float:
    """Log time over the baseline's."""
    if evaluation.speedup is None:
        return _FAILED
    return -math.log(evaluation.speedup)


def _import_optuna() -> Any:
    try:
        optuna = importlib.import_module("optuna")
    except ImportError:
        raise InputError("the proposer tpe needs Optuna: pip install 'rooftree[optuna]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def tpe_proposer(request: ProposerRequest) -> TpeProposer:
    """The factory of the proposer `tpe`. InputError if Optuna is not installed."""
    return TpeProposer()
