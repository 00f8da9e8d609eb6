"""Random search over a task's tunables: what every other way of proposing has to beat."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from codegen.scripted.encoded_space import EncodedSpace, Rows
from mcts.domain import Candidate, KernelTask, declared_space
from mcts.errors import NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.requests import ProposerRequest


class UniformProposer(Proposer):
    """Any allowed configuration that was not tried yet, each as likely as the other.

    In a space too large to be held whole, one near the parent. Looks at nothing else.
    """

    name = "uniform"
    inline = True

    def __init__(self) -> None:
        self._lattice = lru_cache(maxsize=16)(_lattice_of)

    def propose(self, request: ProposalRequest) -> Proposal:
        """Raises NoMoves when everything was tried."""
        lattice = self._lattice(LatticeKey(request.task, request.parent.source))
        return Proposal(candidate=draw_untried(lattice, request, random.Random(request.seed)))


class LatticeKey:
    """A task, with the combinations that exist, and a source, as a key of a cache."""

    __slots__ = ("_key", "source", "task")

    def __init__(self, task: KernelTask, source: str) -> None:
        self.task, self.source = task, source
        self._key = (task.id, task.space.row_set, source)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatticeKey) and self._key == other._key


def _lattice_of(key: LatticeKey) -> EncodedSpace:
    return EncodedSpace(declared_space(key.task, key.source), key.task)


def draw_untried(
    lattice: EncodedSpace, request: ProposalRequest, rng: random.Random, *, near: Rows | None = None
) -> Candidate:
    """An untried candidate, uniformly, or the one with the fewest steps to the row `near`.

    NoMoves when none is left.
    """
    if not lattice.names:
        raise NoMoves("the kernel declares no tunables, so there is nothing to move")
    pool = lattice.rows
    if pool is None:
        origin = lattice.encode(request.parent.tunables) if near is None else near
        pool = lattice.neighbourhood(origin, rng)
    for row in _in_turn(pool, rng, near):
        candidate = candidate_of(lattice, row, request)
        if candidate.id not in request.tried and candidate.id != request.parent.id:
            return candidate
    raise NoMoves("every configuration within reach was tried")


def _in_turn(pool: Rows, rng: random.Random, near: Rows | None) -> Iterator[Rows]:
    """The rows in random order, or by their distance to `near`, equals in random order."""
    order = np.random.default_rng(rng.getrandbits(63)).permutation(len(pool))
    if near is not None:
        order = order[np.argsort(np.abs(pool[order] - near).sum(axis=1), kind="stable")]
    for at in order:
        yield pool[at]


def candidate_of(lattice: EncodedSpace, row: Rows, request: ProposalRequest) -> Candidate:
    """The parent's source with the tunables of `row`."""
    return Candidate(source=request.parent.source, tunables=lattice.decode(row))


def uniform_proposer(request: ProposerRequest) -> UniformProposer:
    """The factory of the proposer `uniform`."""
    return UniformProposer()
