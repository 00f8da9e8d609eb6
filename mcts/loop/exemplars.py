"""Contrastive exemplars: measured variants of different speeds, drawn for a prompt.

After CUDA-L1 (Li et al.), section 2.4.3: variants are sorted into buckets by score, N distinct
buckets are drawn by softmax of their mean scores, and one variant uniformly from each. Fast ones
come up more often, and the two shown always differ in speed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass, field

from mcts.ports import Attempt

COUNT = 2
"""N of the paper."""
BUCKET = math.log(1.1)
"""Width of a bucket in log speedup: variants within 10 % of one another teach no contrast."""
TEMPERATURE = 0.5
"""In log speedup: a bucket 1.65 times as fast as another is drawn e times as often."""


@dataclass(slots=True)
class _Bucket:
    """Variants whose log speedups lie in one interval, with their sum."""

    total: float = 0.0
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return self.total / len(self.attempts)


class Exemplars:
    """Measured variants by bucket, kept up to date as they come in; a draw looks at the buckets,
    not at the variants, so that it stays cheap in a large tree.
    """

    def __init__(self) -> None:
        self._buckets: dict[int, _Bucket] = {}
        self._place: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._place)

    def add(self, attempt: Attempt) -> None:
        """Keep a measured variant; one that failed or is kept already is left out."""
        candidate, evaluation = attempt.candidate, attempt.evaluation
        if candidate is None or evaluation is None or evaluation.speedup is None:
            return
        if candidate.id in self._place:
            return
        score = math.log(evaluation.speedup)
        key = math.floor(score / BUCKET)
        bucket = self._buckets.setdefault(key, _Bucket())
        self._place[candidate.id] = key, len(bucket.attempts)
        bucket.total += score
        bucket.attempts.append(attempt)

    def draw(
        self, *, seed: int, besides: Collection[str] = (), count: int = COUNT
    ) -> tuple[Attempt, ...]:
        """Up to `count` variants from distinct buckets, the fastest first; none of `besides`.

        P(bucket) is proportional to exp((mean - global mean) / temperature), eq. 1 of the paper,
        without replacement. The greatest mean is taken off in place of the global one: the
        probabilities are the same and nothing overflows.
        """
        rng = random.Random(seed)
        barred = self._barred(besides)
        open_keys = [
            key
            for key, bucket in sorted(self._buckets.items())
            if len(bucket.attempts) > len(barred.get(key, ()))
        ]
        drawn: list[int] = []
        while open_keys and len(drawn) < count:
            means = [self._buckets[key].mean for key in open_keys]
            weights = [math.exp((mean - max(means)) / TEMPERATURE) for mean in means]
            key = rng.choices(open_keys, weights)[0]
            open_keys.remove(key)
            drawn.append(key)
        chosen = {key: self._one_of(key, barred.get(key, []), rng) for key in drawn}
        return tuple(chosen[key] for key in sorted(drawn, reverse=True))

    def _barred(self, besides: Collection[str]) -> dict[int, list[int]]:
        """Positions by bucket, rising, of the variants that must not be drawn."""
        barred: dict[int, list[int]] = {}
        for id in set(besides):
            if id in self._place:
                key, at = self._place[id]
                barred.setdefault(key, []).append(at)
        return {key: sorted(places) for key, places in barred.items()}

    def _one_of(self, key: int, barred: list[int], rng: random.Random) -> Attempt:
        """A uniform draw among the positions of a bucket that are not barred."""
        attempts = self._buckets[key].attempts
        at = rng.randrange(len(attempts) - len(barred))
        for place in barred:
            at += place <= at
        return attempts[at]
