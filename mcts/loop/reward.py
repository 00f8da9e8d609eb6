"""Reward: what a measurement is worth to the search, from 0, flat inside the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcts.domain import Evaluation
from mcts.domain.objective import (
    MIN_NOISE,
    comparison,
    credited,
    energy_noise,
    speedup_over,
)
from mcts.options.search import Objective

WORKING_FLOOR = 0.1
"""Reward of a correct variant at baseline speed: working beats failing."""
NEAR_PEAK_FACTOR = 1.05
_TIE_BREAK = 0.5
"""Share of one step of speed that energy may add under the objective `energy`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """How a gain becomes a reward; studies switch each off to see what it brings.

    calibrated_reward: whether a reward is the log of a speedup in units of what the speed of light
        allows, if that is known; otherwise the share of the baseline's time that was saved.
    stepped_reward: whether rewards are flat inside the measurement's noise.
    open_reward: whether a variant beyond the speed of light has a reward above 1; otherwise all
        such variants are worth the same.
    own_times: whether candidates are compared by their own times where the baseline is unsteady
        (`mcts.domain.objective`).
    """

    calibrated_reward: bool = True
    stepped_reward: bool = True
    open_reward: bool = True
    own_times: bool = True

    def as_begun(self, begun: Mapping[str, bool] | None) -> RewardSettings:
        """With what a run began with that had no say in it: runs of versions that knew no rewards
        above 1, or compared by speedups alone, go on so.
        """
        if begun is None:
            return self
        return replace(
            self,
            open_reward=self.open_reward and begun["open_reward"],
            own_times=self.own_times and begun["own_times"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardScale:
    """Calibrates the log of a gain over the baseline: 1 is what was thought possible.

    If the speed-of-light time is known, the reward is log(speedup) / log(speed-of-light speedup).
    The least work that this time is of knows no algebra, so a variant may beat it: its reward is
    then above 1, and searches measure differences against the best reward there is. Otherwise the
    reward is 1 - 1/speedup, the share of the baseline's time that was saved: that is bounded and,
    unlike a running best, does not depend on the order of the results.

    noise: relative width of a step; log gains are rounded to whole steps, so that differences
    inside the measurement's noise mostly earn nothing. energy_noise: the same for energy.

    reference_us: the baseline's time where candidates are compared by their own times, as in
    `Ranking`.

    objective: under `energy` the energy saved adds less than one step of speed; under `edp` the
    gain is that of energy times time, which no roofline bounds.

    calibrated, stepped, open: as in `RewardSettings`. If not calibrated, the reward is
    1 - 1/speedup even if the speed of light is known; if not stepped, the smallest gain counts; if
    not open, no reward is above 1.
    """

    speed_of_light_speedup: float | None = None
    noise: float = MIN_NOISE
    reference_us: float | None = None
    objective: Objective = "time"
    energy_noise: float = MIN_NOISE
    calibrated: bool = True
    stepped: bool = True
    open: bool = True

    @classmethod
    def calibrate(
        cls,
        baseline: Evaluation,
        speed_of_light_us: float | None,
        *,
        objective: Objective = "time",
        settings: RewardSettings = RewardSettings(),
    ) -> RewardScale:
        """The scale of a run: noise from the baseline's own intervals, ceiling from the roofline.

        Raises ValueError if the baseline was not measured.
        """
        timing = baseline.timing
        if not baseline.measured or timing is None:
            raise ValueError("the baseline was not measured")
        reference, noise = comparison(baseline, own_times=settings.own_times)
        # A roofline describes one shape.
        known = speed_of_light_us is not None and not timing.shapes
        ceiling = timing.median_us / speed_of_light_us if known and speed_of_light_us else None
        return cls(
            speed_of_light_speedup=ceiling if ceiling and ceiling > NEAR_PEAK_FACTOR else None,
            noise=noise,
            reference_us=reference,
            objective=objective,
            energy_noise=energy_noise(baseline.energy),
            calibrated=settings.calibrated_reward,
            stepped=settings.stepped_reward,
            open=settings.open_reward,
        )

    def reward(self, evaluation: Evaluation) -> float:
        """Reward of an evaluation, from 0; 0 unless it was measured. Monotone in the time."""
        speedup, saved = credited(evaluation, self.reference_us)
        if speedup is None:
            return 0.0
        if self.objective == "energy":
            return self.of_speedup_then_energy(speedup, saved)
        if self.objective == "edp":
            return self.of_product(speedup, saved)
        return self.of_speedup(speedup)

    def of_speedup(self, speedup: float) -> float:
        """Reward of a speedup (baseline time over candidate time, > 0)."""
        return self._of_steps(self._steps(speedup, self.noise))

    def of_speedup_then_energy(self, speedup: float, saved: float | None) -> float:
        """Reward of a speedup, with ties broken by energy.

        `saved` is the baseline's energy over the candidate's; None, if unknown, adds nothing.
        """
        steps = self._steps(speedup, self.noise)
        here = self._of_steps(steps)
        if saved is None:
            return here
        energy = self._steps(saved, self.energy_noise) * math.log1p(self.energy_noise)
        share = 1 / (1 + math.exp(-energy))
        return here + (self._of_steps(steps + 1) - here) * _TIE_BREAK * share

    def of_product(self, speedup: float, saved: float | None) -> float:
        """Reward of a gain in energy times time.

        If the energy is unknown so is the gain: a speedup then counts for no more than 1.
        """
        gain = min(speedup, 1.0) if saved is None else speedup * saved
        noise = self.noise + self.energy_noise
        return _working(self._steps(gain, noise) * math.log1p(noise), ceiling=None)

    def _of_steps(self, steps: float) -> float:
        ceiling = self.speed_of_light_speedup if self.calibrated else None
        reward = _working(steps * math.log1p(self.noise), ceiling=ceiling)
        return reward if self.open else min(1.0, reward)

    def _steps(self, gain: float, noise: float) -> float:
        """The log of a gain in steps of the noise; a whole number if rewards are `stepped`."""
        steps = math.log(gain) / math.log1p(noise)
        return round(steps) if self.stepped else steps

    def near_peak(self, evaluation: Evaluation) -> bool:
        """Whether the time is within 5 % of the speed of light, and time is all that counts.

        Beyond that the speed of light was beaten, and nothing is known of what is left.
        """
        speedup = speedup_over(self.reference_us, evaluation)
        if speedup is None or self.speed_of_light_speedup is None:
            return False
        apart = speedup / self.speed_of_light_speedup
        beaten = self.open and apart > NEAR_PEAK_FACTOR
        return apart * NEAR_PEAK_FACTOR >= 1 and not beaten and self.objective == "time"


def _working(log_gain: float, *, ceiling: float | None) -> float:
    """Reward of a correct candidate: the floor at the baseline's level, 1 at the ceiling, more
    beyond it.
    """
    if log_gain < 0:
        return WORKING_FLOOR * math.exp(log_gain)
    share = -math.expm1(-log_gain) if ceiling is None else log_gain / math.log(ceiling)
    return WORKING_FLOOR + (1.0 - WORKING_FLOOR) * share
