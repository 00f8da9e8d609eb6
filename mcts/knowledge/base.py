"""The knowledge base: by performance state, what each method is expected to bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mcts.domain.lesson import MAX_CLOSENESS, StateSignature
from mcts.knowledge.belief import Belief
from mcts.knowledge.contribution import Contribution, newest
from mcts.knowledge.evidence import NOTHING, Evidence, evidence_of, total
from mcts.knowledge.moves import Act

ELSEWHERE = 4.0
"""How many observations the evidence of less similar states counts for, at most."""

ANY = ""
"""Stands for every method of which nothing is known."""


class Key(NamedTuple):
    """What contributions are summed by."""

    task: str
    state: StateSignature
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What is expected of an act in a state, before it is tried in this run.

    `belief` is over the log gain. `evidence` counts what was seen of this very method on `tasks`
    tasks; `closeness` says how alike the closest of the states was (`StateSignature.closeness`).
    """

    act: Act
    belief: Belief
    evidence: Evidence
    closeness: int
    tasks: int


class Knowledge:
    """Sums of contributions by task, state and act. Immutable; what is expected in a state is
    computed once.

    A belief is built level by level, from the evidence least similar to the question to the most
    similar:

        any method in other states; any method in states of the same roofline class; this method in
        other states; in those of the same class; with the same memory level and arithmetic as well;
        in this very state.

    Before each level the belief is weakened to ELSEWHERE observations, so that its mean becomes

        (ELSEWHERE * mean + n * level's mean) / (ELSEWHERE + n)

    once there is more: partial pooling, by which a state of which little is known borrows from
    coarser ones (Gelman and Hill, Data Analysis Using Regression and Multilevel/Hierarchical
    Models, 2007, section 12.2), down a chain of ever coarser keys as in language models (MacKay
    and Peto, A Hierarchical Dirichlet Language Model, Natural Language Engineering 1, 1995).
    """

    def __init__(self, sums: Mapping[Key, Evidence] | None = None) -> None:
        self.sums: Mapping[Key, Evidence] = dict(sums or {})
        self._known: dict[StateSignature, dict[Act, Experience]] = {}

    @classmethod
    def of(cls, contributions: Iterable[Contribution], *, besides: str | None = None) -> Knowledge:
        """The sums of contributions in any order, without those of the task `besides`."""
        sums: dict[Key, Evidence] = {}
        for one in newest(contributions):
            if one.task != besides:
                key = Key(one.task, one.state, Act(one.method, one.undone))
                sums[key] = sums.get(key, NOTHING) + evidence_of(one)
        return cls(sums)

    def besides(self, task: str) -> Knowledge:
        """The same without what was learned on `task`."""
        return Knowledge({key: found for key, found in self.sums.items() if key.task != task})

    def __bool__(self) -> bool:
        return bool(self.sums)

    def expect(self, state: StateSignature) -> Mapping[Act, Experience]:
        """What is expected of every act that was ever seen, and of ANY other; empty if nothing is
        known at all."""
        if state not in self._known:
            self._known[state] = {one.act: one for one in self._expectations(state)}
        return self._known[state]

    def _expectations(self, state: StateSignature) -> Iterator[Experience]:
        seen: dict[Act, Levels] = {}
        for key, found in self.sums.items():
            level = seen.setdefault(key.act, _empty_levels())[key.state.closeness(state)]
            level[key.task] = level.get(key.task, NOTHING) + found
        for undone in (False, True) if seen else ():
            same_way = {act: levels for act, levels in seen.items() if act.undone == undone}
            every = [
                _merged(level) for level in zip(*same_way.values(), strict=True)
            ] or _empty_levels()
            start = _learned(Belief(), [every[0], _merged(every[1:])])
            for act, levels in {Act(ANY, undone): _empty_levels(), **same_way}.items():
                yield Experience(
                    act=act,
                    belief=_learned(start, levels),
                    evidence=total(found for level in levels for found in level.values()),
                    closeness=max((at for at, level in enumerate(levels) if level), default=0),
                    tasks=len({task for level in levels for task in level}),
                )


Levels = list[dict[str, Evidence]]
"""Evidence by closeness of its state, then by task."""


def _empty_levels() -> Levels:
    return [{} for _ in range(MAX_CLOSENESS + 1)]


def _learned(belief: Belief, levels: Levels) -> Belief:
    """The belief after levels of evidence, the most similar last; repeated observations of one task
    are discounted."""
    for level in levels:
        found = total(evidence.discounted() for evidence in level.values())
        belief = belief.weakened(ELSEWHERE).after(found.count, found.mean, found.deviations)
    return belief


def _merged(levels: Iterable[Mapping[str, Evidence]]) -> dict[str, Evidence]:
    merged: dict[str, Evidence] = {}
    for level in levels:
        for task, found in level.items():
            merged[task] = merged.get(task, NOTHING) + found
    return merged
