"""Beliefs about a log gain of unknown mean and variance, and how one opinion per act is drawn."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcts.knowledge.moves import Act

Sampling = Literal["thompson", "top_k", "mean"]
TOP = 4


@dataclass(frozen=True, slots=True)
class Belief:
    """The conjugate family of a normal sample: a normal-inverse-gamma distribution over its mean
    and variance.

    mean: expected log gain. strength: how many observations the mean is worth. freedom: how many
    the variance is worth. variance: its scale. In the usual letters of the inverse gamma,
    shape = freedom / 2 and scale = freedom * variance / 2 (Gelman et al., Bayesian Data Analysis,
    3rd ed. 2013, section 3.3; Bishop, Pattern Recognition and Machine Learning, 2006, 2.3.6).
    """

    mean: float = 0.0
    strength: float = 1.0
    freedom: float = 4.0
    variance: float = 0.09

    def after(self, count: float, mean: float, squares: float) -> Belief:
        """The posterior after `count` observations (which may be a fraction) of this mean and this
        sum of squared deviations from it.

        The mean moves by count / (strength + count) of the gap between what was predicted and what
        was measured, so that one update is KernelBlaster's comparison of the two.
        """
        if count <= 0.0:
            return self
        strength = self.strength + count
        gap = mean - self.mean
        freedom = self.freedom + count
        spread = self.freedom * self.variance + squares + self.strength * count / strength * gap**2
        return Belief(self.mean + count / strength * gap, strength, freedom, spread / freedom)

    def weakened(self, most: float) -> Belief:
        """The same belief, worth at most `most` observations.

        A power prior (Ibrahim and Chen, Statistical Science 15, 2000): what was learned elsewhere
        enters with an exponent below 1 if there is more of it than it can be trusted for.
        """
        return Belief(
            self.mean, min(self.strength, most), min(self.freedom, max(most, 4.0)), self.variance
        )

    def draw(self, rng: random.Random) -> float:
        """A mean drawn from the belief: what Thompson sampling acts upon (Thompson, Biometrika 25,
        1933)."""
        chi_squared = rng.gammavariate(self.freedom / 2, 2.0)
        variance = self.freedom * self.variance / max(chi_squared, 1e-12)
        return rng.gauss(self.mean, math.sqrt(variance / self.strength))

    @property
    def spread(self) -> float:
        """Standard deviation of the next log gain: that of the predictive t distribution, whose
        variance exists because `freedom` never falls to 2."""
        scale = self.variance * (1 + 1 / self.strength)
        return math.sqrt(scale * self.freedom / (self.freedom - 2))


def sampled(
    beliefs: Mapping[Act, Belief], rng: random.Random, *, how: Sampling = "thompson", top: int = TOP
) -> dict[Act, float]:
    """A log gain for each act; the same for the same beliefs and seed, in whatever order they come.

    thompson: a draw from each belief: what is little known is sometimes overrated, and so tried.
    top_k: `top` acts chosen by chance, likelier the more they are expected to gain, count as what
    is expected of them; of the others only what is expected to lose does (KernelBlaster's weighted
    choice). mean: what is expected, with no chance in it.
    """
    order = sorted(beliefs)
    if how == "thompson":
        return {act: beliefs[act].draw(rng) for act in order}
    means = {act: beliefs[act].mean for act in order}
    if how == "mean":
        return means
    chosen = set(weighted_choice({act: math.exp(mean) for act, mean in means.items()}, rng, top))
    return {act: mean if act in chosen else min(0.0, mean) for act, mean in means.items()}


def weighted_choice(weights: Mapping[Act, float], rng: random.Random, count: int) -> list[Act]:
    """`count` acts without replacement, each with odds in proportion to its weight, > 0.

    The greatest of u ** (1 / weight), u uniform (Efraimidis and Spirakis, Weighted Random Sampling
    with a Reservoir, Information Processing Letters 97, 2006).
    """
    keys = {act: math.log(1.0 - rng.random()) / weights[act] for act in sorted(weights)}
    return sorted(keys, key=lambda act: -keys[act])[:count]
