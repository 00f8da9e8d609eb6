"""What a step over tunables means: the methods it applies and takes back, and why, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from codegen.playbook import method_name
from codegen.scripted.candidate_space import CandidateSpace
from codegen.scripted.encoded_space import Rows
from mcts.domain import Candidate, Guidance, Scalar, Tunable
from mcts.knowledge.moves import is_undone
from mcts.ports import ProposalRequest


def candidate_at(
    row: Rows, request: ProposalRequest, space: CandidateSpace, origin: Rows, *, by_times: bool
) -> Candidate:
    """The candidate at `row`, with the methods that the step from `origin` applies and its
    rationale. `by_times` says that the run's times led there, not advice.
    """
    encoded, tunables = space.encoded, space.tunables
    before, after = encoded.decode(origin), encoded.decode(row)
    moved = [name for name in encoded.names if before[name] != after[name]]
    undone = {
        name: is_undone(*map(int, step))
        for name, *step in zip(encoded.names, origin, row, encoded.defaults, strict=True)
    }
    methods = _methods(tunables[name] for name in moved if not undone[name])
    taken = _methods((tunables[name] for name in moved if undone[name]), besides=methods)
    steps = ", ".join(f"{name} {before[name]} -> {after[name]}" for name in moved)
    named = [*map(method_name, methods), *_taken_back(tunables, taken, after)]
    return Candidate(
        source=request.parent.source,
        tunables=after,
        methods=methods,
        rationale=steps + _because(request, named, methods, by_times=by_times),
    )


def _methods(tunables: Iterable[Tunable], *, besides: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The methods that these tunables exercise."""
    named = chain.from_iterable(tunable.methods for tunable in tunables)
    return tuple(dict.fromkeys(method for method in named if method not in besides))


def _taken_back(
    tunables: Mapping[str, Tunable], methods: tuple[str, ...], present: Mapping[str, Scalar]
) -> list[str]:
    """In words: without a method where all of its tunables stand at their defaults, else less."""
    standing = {
        method
        for name, tunable in tunables.items()
        for method in tunable.methods
        if present[name] != tunable.default
    }
    return [f"{'less' if one in standing else 'without'} {method_name(one)}" for one in methods]


def _because(
    request: ProposalRequest, named: list[str], methods: tuple[str, ...], *, by_times: bool
) -> str:
    """`: what changed in words, and which finding suggests the methods, or that the times do`."""
    names = ", ".join(named)
    if request.move.kind == "repair":
        names = f"repair of {request.evaluation.status.replace('_', ' ')}"
    tool = None if by_times else _strongest_tool(request.guidance, methods)
    why = ", where this run's times promise most" if by_times else ""
    return (f": {names}" if names else "") + (f", as {tool} suggests" if tool else why)


def _strongest_tool(guidance: Guidance, methods: tuple[str, ...]) -> str | None:
    pointing = [found for found in guidance.findings if set(found.methods) & set(methods)]
    return max(pointing, key=lambda found: found.strength).tool if pointing else None
