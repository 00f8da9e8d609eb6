"""What is believed of a log gain whose mean and variance are both unknown."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


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
