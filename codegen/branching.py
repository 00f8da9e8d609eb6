"""The same idea with other values of its tunables: what is timed beside a proposal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from codegen.dialects import writing_of
from codegen.dialects.space.values import declared
from mcts.domain import SPACE, Candidate, KernelTask, Scalar, TunableSpace, Workload
from mcts.errors import InputError, NoMoves
from mcts.ports import ProposalRequest
from mcts.search.seeding import seed_from
from mcts.search.trial import Move

if TYPE_CHECKING:
    from codegen.scripted.proposer import ScriptedProposer


def branches_of(
    candidate: Candidate,
    listed: Sequence[Mapping[str, Scalar]],
    request: ProposalRequest,
    *,
    most: int,
) -> tuple[Candidate, ...]:
    """Up to `most` other combinations of the candidate's values that were not tried: those that
    its author listed, then neighbours as the scripted proposer draws them.
    """
    space = writing_of(request.task.dialect).space_of(candidate, request.task)
    if most < 1 or space.size <= 1:
        return ()
    kept: dict[str, Candidate] = {}
    for values in _wanted(candidate, listed, space, request):
        branch = _branch(candidate, space, values, request.task)
        known = request.tried | kept.keys() | {candidate.id, request.parent.id}
        if branch is not None and branch.id not in known:
            kept[branch.id] = branch
        if len(kept) == most:
            break
    return tuple(kept.values())


def _wanted(
    candidate: Candidate,
    listed: Sequence[Mapping[str, Scalar]],
    space: TunableSpace,
    request: ProposalRequest,
) -> Iterator[dict[str, Scalar]]:
    """Combinations in the order of preference; only those asked for are drawn."""
    present = {**space.default(), **candidate.tunables}
    for values in listed:
        if set(values) <= set(space.tunables):
            merged = {**present, **values}
            yield {name: declared(space, name, merged[name]) for name in space.tunables}
    yield from _neighbours(present, space, request)


def _neighbours(
    present: dict[str, Scalar], space: TunableSpace, request: ProposalRequest
) -> Iterator[dict[str, Scalar]]:
    """Values near the present ones, the better advised the likelier; without end but for the
    space's own.
    """
    parent = Candidate(tunables=present)
    asked = replace(
        request,
        task=_as_space(space, parent, request.task.workloads),
        parent=parent,
        move=Move("improve", 0),
        siblings=(),
        exemplars=(),
        history=(),
    )
    explorer, tried = _explorer(), {parent.id}
    for draw in range(space.size):
        seed = seed_from(request.seed, "branch", draw)
        try:
            found = explorer.propose(replace(asked, tried=frozenset(tried), seed=seed)).candidate
        except NoMoves:
            return
        tried.add(found.id)
        yield dict(found.tunables)


@cache
def _explorer() -> ScriptedProposer:
    """One for all: it keeps what it works out of a space, and no state."""
    from codegen.scripted.proposer import ScriptedProposer  # numpy is needed only here

    return ScriptedProposer()


def _as_space(
    space: TunableSpace, parent: Candidate, workloads: tuple[Workload, ...]
) -> KernelTask:
    """The values alone as a task: without source there is less to hash."""
    return KernelTask(
        name="branches", dialect=SPACE, baseline=parent, workloads=workloads, space=space
    )


def _branch(
    candidate: Candidate, space: TunableSpace, values: dict[str, Scalar], task: KernelTask
) -> Candidate | None:
    """The candidate with other values; None if they are not allowed together."""
    try:
        space.check(values)
        found = writing_of(task.dialect).with_values(candidate, values, task)
    except InputError:
        return None
    before = {**space.default(), **candidate.tunables}
    moved = [f"{name} = {values[name]}" for name in values if values[name] != before[name]]
    rationale = "; ".join(filter(None, [candidate.rationale, "with " + ", ".join(moved)]))
    return found.model_copy(update={"rationale": rationale})
