"""What counts as better: less time, less energy at the same speed, or less of their product.

What decides between candidates goes through a `Ranking`: the search's best so far, its rewards, the
finalists, the kernel that is handed back, and what proposers and the memory are told. If the task
refuses regressions, a candidate that makes one of several timed shapes slower ranks behind all
others and is never handed back. It may be built upon, since what is fast on the other shapes is
worth repairing; its reward is that of its worst shape.

Speedups are ratios of times that were measured in turn, so that what the device does meanwhile
cancels. Where the baseline itself takes unequal times, such as a loop in PyTorch that waits for the
host, they tell candidates apart worse than the candidates' own times do: then those are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from mcts.domain import Energy, Evaluation, Timing
from mcts.options.search import Objective

OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
MIN_NOISE = 0.005
UNSTEADY = 1.10
"""If the baseline's time and its speedup over itself are both known no better than to this factor,
from the low to the high end of their intervals, candidates are compared by their own times."""
OWN_TIME_NOISE = 0.025
"""By how much those differ between two measurements of one candidate: clocks and temperatures,
which cancel in a speedup, and GPUs of one kind, where a run has several."""
WORTH_MEASURING = 1.10
"""If the best is faster than a candidate by more than this factor, the candidate's energy cannot
matter to `energy`. Well beyond the noise, so that noise does not decide what is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Orders measured evaluations by an objective.

    `noise` is the relative difference in time that counts as none; only `energy` uses it.
    `baseline_id` is the baseline's candidate id: it is never held back as slower than itself.
    `reference_us` is the baseline's time where candidates are compared by their own times.
    """

    objective: Objective = "time"
    noise: float = MIN_NOISE
    baseline_id: str | None = None
    reference_us: float | None = None

    @classmethod
    def calibrate(
        cls, baseline: Evaluation, objective: Objective, *, own_times: bool = False
    ) -> Ranking:
        """The ranking of a run, with the noise of its baseline's own time; with `own_times`, by
        these where the baseline is unsteady.
        """
        reference, noise = comparison(baseline, own_times=own_times)
        return cls(
            objective=objective,
            noise=noise,
            baseline_id=baseline.candidate_id,
            reference_us=reference,
        )

    def speedup(self, evaluation: Evaluation) -> float | None:
        """The speedup that candidates are compared by; None if it was not measured."""
        return speedup_over(self.reference_us, evaluation)

    def gain(self, evaluation: Evaluation) -> float | None:
        """How many times better than the baseline: its speedup, or the ratio of the products.

        None if that was not measured.
        """
        speedup = self.speedup(evaluation)
        if self.objective != "edp" or speedup is None:
            return speedup
        energy = energy_gain(evaluation)
        return None if energy is None else speedup * energy

    def interval(self, evaluation: Evaluation) -> tuple[float, float]:
        """Ends of the gain's interval, for an evaluation that has a gain.

        Under `energy` it is widened by the noise: a candidate within it may still win by energy.
        """
        timing, energy = evaluation.timing, evaluation.energy
        assert timing is not None, "only what was measured has a gain"
        low, high = self._speedup_interval(timing)
        if self.objective == "energy":
            return low / (1 + self.noise), high * (1 + self.noise)
        if self.objective == "edp" and energy is not None and energy.baseline_mj is not None:
            least, most = energy.ratio
            return low / most, high / least
        return low, high

    def _speedup_interval(self, timing: Timing) -> tuple[float, float]:
        """Ends of the interval of the speedup that candidates are compared by.

        Own times are given half the noise each, so that two that lie apart differ by more than it.
        """
        if self.reference_us is None:
            return timing.speedup_low, timing.speedup_high
        room = math.sqrt(1 + self.noise)
        return self.reference_us / timing.high_us / room, self.reference_us / timing.low_us * room

    def as_compared(self, evaluation: Evaluation) -> Evaluation:
        """`evaluation` with the speedup that candidates are compared by, over the baseline's time
        that goes with it, in place of its own.

        As it is where several shapes were timed: their speedups are known as measured alone.
        """
        speedup, timing = self.speedup(evaluation), evaluation.timing
        if self.reference_us is None or speedup is None or timing is None or timing.shapes:
            return evaluation
        low, high = self._speedup_interval(timing)
        compared = {
            "baseline_us": self.reference_us,
            "speedup": speedup,
            "speedup_low": low,
            "speedup_high": high,
        }
        return evaluation.model_copy(update={"timing": timing.model_copy(update=compared)})

    def order(self, evaluations: Mapping[int, Evaluation]) -> Iterator[int]:
        """Nodes from the best to the worst, the earliest first among equals.

        What has no gain is left out, what is held back comes last. Under `energy` each step takes
        the least energy among those that are as fast as the fastest left; unknown energy loses to
        any that is known.
        """
        sound, held = self._split(evaluations)
        yield from self._order(sound)
        yield from self._order(held)

    def best(self, evaluations: Mapping[int, Evaluation]) -> int | None:
        """The first in order; None if nothing has a gain."""
        sound, held = self._split(evaluations)
        first = self._best(sound)
        return self._best(held) if first is None else first

    def _split(
        self, evaluations: Mapping[int, Evaluation]
    ) -> tuple[dict[int, Evaluation], dict[int, Evaluation]]:
        """Evaluations that may be handed back, and those that may not."""
        sound: dict[int, Evaluation] = {}
        held: dict[int, Evaluation] = {}
        for node, found in evaluations.items():
            allowed = not found.held_back or found.candidate_id == self.baseline_id
            (sound if allowed else held)[node] = found
        return sound, held

    def _order(self, evaluations: Mapping[int, Evaluation]) -> Iterator[int]:
        known = self._gains(evaluations)
        left = sorted(known, key=lambda node: (-known[node], node))
        if self.objective != "energy":
            yield from left
            return
        while left:
            floor = known[left[0]] / (1 + self.noise)
            band = [node for node in left if known[node] >= floor]
            saved = {node: energy_gain(evaluations[node]) or 0.0 for node in band}
            best = min(band, key=lambda node: (-saved[node], -known[node], node))
            left.remove(best)
            yield best

    def _best(self, evaluations: Mapping[int, Evaluation]) -> int | None:
        if self.objective == "energy":
            return next(self._order(evaluations), None)
        known = self._gains(evaluations)
        return max(known, key=lambda node: (known[node], -node), default=None)

    def _gains(self, evaluations: Mapping[int, Evaluation]) -> dict[int, float]:
        gains = {node: self.gain(found) for node, found in evaluations.items()}
        return {node: gain for node, gain in gains.items() if gain is not None}

    def wants_energy(self, evaluation: Evaluation, *, best_speedup: float) -> bool:
        """Whether a candidate's energy is worth measuring: that takes a quarter of a minute, and
        most are slow.
        """
        speedup = self.speedup(evaluation)
        if self.objective == "time" or speedup is None:
            return False
        return self.objective == "edp" or speedup * WORTH_MEASURING >= best_speedup


def standing(
    evaluations: Mapping[int, Evaluation], confirmed: Mapping[str, Evaluation]
) -> dict[int, Evaluation]:
    """The candidates that may be handed back, by node: all measured ones, until some are confirmed.

    From then on only the baseline (node 0) and what was confirmed, with those measurements: the
    best of many noisy figures is too good on average, a fresh one is not. Never what is slower on a
    shape than the task allows.
    """
    measured = {node: found for node, found in evaluations.items() if found.measured}
    if not confirmed:
        return _without_regressions(measured)
    again = {
        node: confirmed[found.candidate_id]
        for node, found in measured.items()
        if found.candidate_id in confirmed and confirmed[found.candidate_id].measured
    }
    return _without_regressions({0: evaluations[0], **again})


def _without_regressions(evaluations: Mapping[int, Evaluation]) -> dict[int, Evaluation]:
    return {node: found for node, found in evaluations.items() if node == 0 or not found.held_back}


def reference_us(baseline: Evaluation) -> float | None:
    """The baseline's own time, if candidates are to be compared by theirs; None otherwise."""
    timing = baseline.timing
    if timing is None or timing.high_us <= UNSTEADY * timing.low_us:
        return None
    # A short call's speedup is widened for where its data lies, which says nothing of its time.
    return timing.median_us if timing.speedup_high > UNSTEADY * timing.speedup_low else None


def comparison(baseline: Evaluation, *, own_times: bool) -> tuple[float | None, float]:
    """The time that candidates' own times are held against, None where speedups are compared, and
    the relative difference that counts as none.
    """
    reference = reference_us(baseline) if own_times else None
    return reference, time_noise(baseline) if reference is None else OWN_TIME_NOISE


def speedup_over(reference_us: float | None, evaluation: Evaluation) -> float | None:
    """`reference_us` over the candidate's own time, or its speedup where that is None.

    None if it was not measured.
    """
    timing = evaluation.timing
    if evaluation.speedup is None or timing is None or reference_us is None:
        return evaluation.speedup
    return reference_us / timing.median_us


def credited(
    evaluation: Evaluation, reference_us: float | None = None
) -> tuple[float | None, float | None]:
    """Speedup and energy gain as a search is rewarded for them; each None if not measured.

    What is held back has the speedup of its worst shape and no gain in energy: less than 1, and the
    closer to 1 the less is left to repair.
    """
    speedup, saved = speedup_over(reference_us, evaluation), energy_gain(evaluation)
    timing = evaluation.timing
    if speedup is None or timing is None or not evaluation.held_back:
        return speedup, saved
    worst = min(shape.speedup for shape in timing.shapes)
    return min(speedup, worst), None if saved is None else min(saved, 1.0)


def energy_gain(evaluation: Evaluation) -> float | None:
    """The baseline's energy per call over the candidate's; None if it was not measured."""
    energy = evaluation.energy
    if energy is None or energy.baseline_mj is None:
        return None
    return energy.baseline_mj / energy.energy_mj


def time_noise(evaluation: Evaluation) -> float:
    """Relative width of the time's interval, at least `MIN_NOISE`."""
    timing = evaluation.timing
    if timing is None:
        return MIN_NOISE
    return max(MIN_NOISE, (timing.high_us - timing.low_us) / timing.median_us)


def energy_noise(energy: Energy | None) -> float:
    """Relative width of the interval of its ratio to the baseline's, at least `MIN_NOISE`."""
    if energy is None:
        return MIN_NOISE
    low, high = energy.ratio
    return max(
        MIN_NOISE, (high - low) * (energy.baseline_mj or energy.energy_mj) / energy.energy_mj
    )
