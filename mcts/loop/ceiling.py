"""When a run has little left to gain: its best is near what moving its data takes."""

from __future__ import annotations

from dataclasses import dataclass

from mcts.domain import Evaluation, Roofline
from mcts.loop.reward import NEAR_PEAK_FACTOR
from mcts.options.search import Objective


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The greatest speedup that a task's traffic allows, and within which `share` of it a run ends.

    Arithmetic bounds nothing here: its operations are counted as the reference writes them, and a
    variant may need fewer. Inputs must be read and outputs written whatever the algorithm. A best
    that is clearly faster than that shows that the bound is none, and ends nothing.
    """

    speedup: float | None
    share: float

    @classmethod
    def of(
        cls,
        baseline: Evaluation,
        roofline: Roofline | None,
        *,
        objective: Objective,
        share: float | None,
    ) -> Ceiling:
        """That of the task whose measured baseline has this roofline.

        Nothing ends a run that has no `share`, whose objective is not time, that is timed on
        several shapes (a roofline describes one), or whose roofline is not bounded by traffic.
        """
        timing = baseline.timing
        if share is None or objective != "time" or timing is None or timing.shapes:
            return cls(None, 0.0)
        if roofline is None or not roofline.bounded_by_traffic or not roofline.speed_of_light_us:
            return cls(None, 0.0)
        return cls(timing.median_us / roofline.speed_of_light_us, share)

    def reached(self, best: float) -> str | None:
        """Why the run ends with this best speedup, in words; None if it goes on."""
        if self.speedup is None:
            return None
        apart = best / self.speedup
        if apart * (1 + self.share) < 1 or apart > NEAR_PEAK_FACTOR:
            return None
        return (
            f"within {100 * self.share:g} % of the time that moving inputs and outputs takes "
            "(--stop-within)"
        )
