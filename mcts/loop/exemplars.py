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
    """Measured variants by bucket, sorted in as they arrive.

    A draw looks at the buckets, not at the variants, so that it stays cheap in a large tree.
    """

    def __init__(self) -> None:
        self._buckets: dict[int, _Bucket] = {}
        self._place: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._place)

    def add(self, attempt: Attempt) -> None:
        """Keep an attempt, unless it failed or its candidate is kept already."""
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
        """Draw up to `count` variants from distinct buckets; returns them, the fastest first.

        P(bucket) is proportional to exp((mean - global mean) / temperature), eq. 1 of the paper,
        without replacement. The greatest mean is subtracted in place of the global one: the
        probabilities are the same and nothing overflows. Candidates in `besides` are not drawn.
        """
        rng = random.Random(seed)
        excluded = self._positions(besides)
        open_keys = [
            key
            for key, bucket in sorted(self._buckets.items())
            if len(bucket.attempts) > len(excluded.get(key, ()))
        ]
        drawn: list[int] = []
        while open_keys and len(drawn) < count:
            means = [self._buckets[key].mean for key in open_keys]
            weights = [math.exp((mean - max(means)) / TEMPERATURE) for mean in means]
            key = rng.choices(open_keys, weights)[0]
            open_keys.remove(key)
            drawn.append(key)
        chosen = {key: self._draw_from(key, excluded.get(key, []), rng) for key in drawn}
        return tuple(chosen[key] for key in sorted(drawn, reverse=True))

    def _positions(self, ids: Collection[str]) -> dict[int, list[int]]:
        """The positions of these candidates in their buckets, ascending, by bucket."""
        positions: dict[int, list[int]] = {}
        for id in set(ids):
            if id in self._place:
                key, at = self._place[id]
                positions.setdefault(key, []).append(at)
        return {key: sorted(places) for key, places in positions.items()}

    def _draw_from(self, key: int, excluded: list[int], rng: random.Random) -> Attempt:
        """A uniform draw from a bucket, without the `excluded` positions (ascending)."""
        attempts = self._buckets[key].attempts
        at = rng.randrange(len(attempts) - len(excluded))
        for place in excluded:
            at += place <= at
        return attempts[at]
