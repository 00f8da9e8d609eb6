"""Reward: what a measurement is worth to the search, in [0, 1], flat inside the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mcts.domain import Evaluation

WORKING_FLOOR = 0.1
"""What a correct variant at baseline speed earns: working beats failing."""
NEAR_PEAK_FACTOR = 1.05
MIN_NOISE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardScale:
    """Calibrates log speedup to [0, 1].

    With the speed-of-light time known, the reward is log(speedup) / log(speed-of-light speedup),
    clipped, so that outliers cannot dominate and 1 means nothing is left. Where it is unknown,
    1 - 1/speedup: the share of the baseline's time that was saved, which is bounded and, unlike
    a running best, does not depend on the order in which results come in.

    noise: relative width of a step; log speedups are rounded to whole steps, so that differences
    inside the measurement's noise mostly earn nothing.
    """

    speed_of_light_speedup: float | None = None
    noise: float = MIN_NOISE

    @classmethod
    def calibrate(cls, baseline: Evaluation, speed_of_light_us: float | None) -> RewardScale:
        """Scale for a run: noise from the baseline's own interval, ceiling from the roofline.

        Raises ValueError when the baseline was not measured.
        """
        timing = baseline.timing
        if not baseline.measured or timing is None:
            raise ValueError("the baseline was not measured")
        spread = (timing.high_us - timing.low_us) / timing.median_us
        ceiling = timing.median_us / speed_of_light_us if speed_of_light_us else None
        return cls(
            speed_of_light_speedup=ceiling if ceiling and ceiling > NEAR_PEAK_FACTOR else None,
            noise=max(MIN_NOISE, spread),
        )

    def reward(self, evaluation: Evaluation) -> float:
        """Reward of an evaluation; 0 for anything but a measured one. Monotone in the time."""
        speedup = evaluation.speedup
        return 0.0 if speedup is None else self.of_speedup(speedup)

    def of_speedup(self, speedup: float) -> float:
        """Reward of a speedup (baseline time over candidate time, > 0)."""
        step = math.log1p(self.noise)
        gain = round(math.log(speedup) / step) * step
        if gain < 0:
            return WORKING_FLOOR * math.exp(gain)
        if self.speed_of_light_speedup is None:
            share = -math.expm1(-gain)
        else:
            share = min(1.0, gain / math.log(self.speed_of_light_speedup))
        return WORKING_FLOOR + (1.0 - WORKING_FLOOR) * share

    def near_peak(self, evaluation: Evaluation) -> bool:
        """Whether the time is within 5 % of the speed of light."""
        if evaluation.speedup is None or self.speed_of_light_speedup is None:
            return False
        return evaluation.speedup * NEAR_PEAK_FACTOR >= self.speed_of_light_speedup
