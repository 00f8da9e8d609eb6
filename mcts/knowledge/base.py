"""The knowledge base: by performance state, what each method is expected to bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mcts.domain.lesson import MOST_ALIKE, StateSignature
from mcts.knowledge.belief import Belief
from mcts.knowledge.contribution import Contribution, newest
from mcts.knowledge.evidence import NOTHING, Evidence, evidence_of, total
from mcts.knowledge.moves import Act

ELSEWHERE = 4.0
"""How many observations all that was seen less close by counts for, at most."""

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
    """Sums of contributions by task, state and act. Immutable, and cheap to ask: what is expected
    in a state is worked out once.

    A belief is grown from what is least like the question to what is most like it, ring by ring:

        any method in other states; any method in states of the same roofline class; this method in
        other states; in those of the same class; with the same level and arithmetic as well; in
        this very state.

    Before each ring the belief is weakened to ELSEWHERE observations, so that its mean becomes

        (ELSEWHERE * mean + n * ring's mean) / (ELSEWHERE + n)

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
        """What contributions come to, in any order; those of the task `besides` left out."""
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
        """What is expected of every act that was ever seen, and of ANY other; nothing if nothing
        is known at all."""
        if state not in self._known:
            self._known[state] = {one.act: one for one in self._expectations(state)}
        return self._known[state]

    def _expectations(self, state: StateSignature) -> Iterator[Experience]:
        seen: dict[Act, Rings] = {}
        for key, found in self.sums.items():
            ring = seen.setdefault(key.act, _rings())[key.state.closeness(state)]
            ring[key.task] = ring.get(key.task, NOTHING) + found
        for undone in (False, True) if seen else ():
            same_way = {act: rings for act, rings in seen.items() if act.undone == undone}
            every = [_merged(ring) for ring in zip(*same_way.values(), strict=True)] or _rings()
            start = _learned(Belief(), [every[0], _merged(every[1:])])
            for act, rings in {Act(ANY, undone): _rings(), **same_way}.items():
                yield Experience(
                    act=act,
                    belief=_learned(start, rings),
                    evidence=total(found for ring in rings for found in ring.values()),
                    closeness=max((at for at, ring in enumerate(rings) if ring), default=0),
                    tasks=len({task for ring in rings for task in ring}),
                )


Rings = list[dict[str, Evidence]]
"""Evidence by closeness of its state, then by task."""


def _rings() -> Rings:
    return [{} for _ in range(MOST_ALIKE + 1)]


def _learned(belief: Belief, rings: Rings) -> Belief:
    """The belief after rings of evidence, the closest last; a task counts for less the more it
    repeats itself."""
    for ring in rings:
        found = total(evidence.discounted() for evidence in ring.values())
        belief = belief.weakened(ELSEWHERE).after(found.count, found.mean, found.deviations)
    return belief


def _merged(rings: Iterable[Mapping[str, Evidence]]) -> dict[str, Evidence]:
    merged: dict[str, Evidence] = {}
    for ring in rings:
        for task, found in ring.items():
            merged[task] = merged.get(task, NOTHING) + found
    return merged
