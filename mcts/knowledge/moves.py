"""Which methods a child applied to its parent, and which it took back."""

from __future__ import annotations

from typing import NamedTuple

from mcts.domain import Candidate, KernelTask, TunableSpace, declared_space
from mcts.errors import InputError


class Act(NamedTuple):
    """A method that was applied, or `undone`: taken back."""

    method: str
    undone: bool = False


def acts_of(parent: Candidate, child: Candidate, task: KernelTask) -> tuple[Act, ...]:
    """The acts by which `child` differs from `parent`.

    Where only tunables differ, a step away from a tunable's default applies those of its methods
    that `child` claims, and a step towards it takes its methods back, claimed or not: a default is
    what a kernel does without them. A method that is applied in one tunable and taken back in
    another is neither. New source applies what it claims.
    """
    space = _space_of(task, child) if parent.source == child.source else None
    directions: dict[str, set[bool]] = {}
    for name, tunable in space.tunables.items() if space is not None else ():
        before = parent.tunables.get(name, tunable.default)
        after = child.tunables.get(name, tunable.default)
        if before == after or not {before, after} <= set(tunable.values):
            continue
        undone = is_undone(*map(tunable.values.index, (before, after, tunable.default)))
        for method in tunable.methods:
            directions.setdefault(method, set()).add(undone)
    back = [method for method, found in directions.items() if found == {True}]
    acts = []
    for method in dict.fromkeys((*child.methods, *back)):
        found = directions.get(method, {False})
        if len(found) == 1:
            acts.append(Act(method, *found))
    return tuple(acts)


def is_undone(before: int, after: int, default: int) -> bool:
    """Whether a step between positions of a tunable's values leads back towards its default."""
    return abs(after - default) < abs(before - default)


def _space_of(task: KernelTask, candidate: Candidate) -> TunableSpace | None:
    try:
        return declared_space(task, candidate.source)
    except InputError:
        return None
