"""Energy per call: long windows of fixed work between readings of the GPU's energy counter.

The counter integrates a coarse power sensor. It changes only every 20 to 100 ms, and on some GPUs
the sensor samples the power during a quarter of that time and assumes the rest to be the same
(Yang, Adamek & Armour, "Part-time power measurements: nvidia-smi's lack of attention", 2024,
arXiv:2312.02741, on A100 and H100). Hence, following that paper: windows of many sensor periods,
read when the counter changes; each begun at a random phase of the period, so that what the sensor
misses averages out; several of them; and the energy of the idle device subtracted. Baseline and
candidate take turns in random order, so that a drift of clocks or temperature that both share
cancels in the ratio.

Reading (`EnergySensor`), running (`Run`), time and waiting are injected, so that everything can be
tested with a simulated sensor.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mcts.domain import Energy
from mcts.errors import EnergyUnavailable
from mcts.statistics import Interval

Run = Callable[[int], None]
"""Runs a number of calls and returns when the device has finished them."""


@dataclass(frozen=True, slots=True)
class Runners:
    """The two programs to run."""

    baseline: Run
    candidate: Run


_PATIENCE_S = 3.0
_OBSERVED_CHANGES = 8
_POLL_S = 0.001
_SETTLE_PERIODS = 3
_LEAST_PAIRS = 3


class EnergySensor(Protocol):
    def read_mj(self) -> float:
        """Millijoules since some fixed moment. EnergyUnavailable if it cannot be read."""
        ...

    def limit_w(self) -> float | None:
        """The power that the board is held to, in watts; None if that is not known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyPlan:
    """How long to measure.

    A window lasts at least `window_s` and `periods` of the sensor. At most `pairs` are taken and at
    least three, as many as fit into `budget_s`; none follows once the 95 % interval of the ratio
    reaches no further than `precision` to either side. Looking at the interval after three and four
    pairs costs some of what it covers: simulated, 92 % at worst (windows that differ by 1 %) and 95
    up to 0.3 %. `seed` draws the order and the phases.
    """

    window_s: float = 1.0
    periods: int = 10
    pairs: int = 5
    precision: float = 0.01
    budget_s: float = 60.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """Energy between two changes of the counter, with `calls` of work in between, which took
    `running_s` of the `seconds`.
    """

    energy_mj: float
    seconds: float
    calls: int
    running_s: float

    def net_mj(self, idle_w: float) -> float:
        """Energy per call beyond what the idle device would have drawn in that time."""
        return (self.energy_mj - idle_w * self.seconds * 1e3) / self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFigures:
    """Net millijoules per call, and candidate over baseline, with 95 % intervals."""

    candidate_mj: Interval
    baseline_mj: Interval
    ratio: Interval


def figures(
    baseline: Sequence[Window], candidate: Sequence[Window], *, idle_w: float
) -> EnergyFigures:
    """Figures from windows measured in pairs.

    Geometric means, so that the ratio of the two energies is the mean of the pairs' ratios.
    EnergyUnavailable if the work draws no more power than the idle device.
    """
    before = [window.net_mj(idle_w) for window in baseline]
    after = [window.net_mj(idle_w) for window in candidate]
    if min(*before, *after) <= 0:
        raise EnergyUnavailable("the work draws no more power than the idle device")
    ratios = [b / a for b, a in zip(after, before, strict=True)]
    return EnergyFigures(
        candidate_mj=mean_interval(after),
        baseline_mj=mean_interval(before),
        ratio=mean_interval(ratios),
    )


def _within(
    windows: tuple[Sequence[Window], Sequence[Window]], idle_w: float, precision: float
) -> bool:
    """Whether pairs enough are known that the ratio is this precise."""
    if len(windows[0]) < _LEAST_PAIRS:
        return False
    ratio = figures(*windows, idle_w=idle_w).ratio
    return ratio.high / ratio.point <= 1 + precision


def mean_interval(values: Sequence[float]) -> Interval:
    """Geometric mean of positive values with its 95 % interval, by Student's t on their logs.

    Not by the percentile bootstrap: of five normal values it covers the mean in 84 % of
    simulations instead of 95, because resamples of so few are less spread than their source.
    """
    from scipy.stats import t

    logs = [math.log(value) for value in values]
    mean = statistics.fmean(logs)
    reach = t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(mean - reach), math.exp(mean), math.exp(mean + reach))


def measure_energy(
    sensor: EnergySensor,
    *,
    baseline: Run,
    candidate: Run,
    plan: EnergyPlan | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Energy:
    """The candidate's energy per call beside the baseline's; takes a quarter of a minute or more.

    The device must be ready to run either, and otherwise idle. Raises EnergyUnavailable if the
    counter does not change or the work cannot be distinguished from idling.
    """
    meter = _Meter(sensor, clock, sleep, random.Random((plan or EnergyPlan()).seed))
    return meter.measure(baseline, candidate, plan or EnergyPlan())


@dataclass(slots=True)
class _Meter:
    """One measurement: the sensor with its period, and the clock it is read against."""

    sensor: EnergySensor
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    random: random.Random
    period_s: float = field(default=0.0)

    def measure(self, baseline: Run, candidate: Run, plan: EnergyPlan) -> Energy:
        self.period_s = self._find_period()
        window_s = max(plan.window_s, plan.periods * self.period_s)
        runs = (baseline, candidate)
        call_s = [self._call_s(run) for run in runs]
        calls = [max(1, math.ceil(window_s / each)) for each in call_s]
        lasts_s = sum(count * each for count, each in zip(calls, call_s, strict=True))
        lasts_s += 2 * (_SETTLE_PERIODS + 2) * self.period_s
        pairs = max(_LEAST_PAIRS, min(plan.pairs, int(plan.budget_s / lasts_s)))
        idle_w = [self._idle_w(window_s)]
        windows: tuple[list[Window], list[Window]] = ([], [])
        while len(windows[0]) < pairs and not _within(windows, idle_w[0], plan.precision):
            order = [0, 1]
            self.random.shuffle(order)
            for which in order:
                windows[which].append(self._window(runs[which], calls[which]))
        idle_w.append(self._idle_w(window_s))
        found = figures(*windows, idle_w=statistics.fmean(idle_w))
        return self._energy(found, windows, idle_w)

    def _energy(
        self,
        found: EnergyFigures,
        windows: tuple[Sequence[Window], Sequence[Window]],
        idle_w: Sequence[float],
    ) -> Energy:
        taken, ratio = windows[1], found.ratio
        baseline_us, candidate_us = (
            statistics.median(window.running_s / window.calls for window in each) * 1e6
            for each in windows
        )
        return Energy(
            energy_mj=found.candidate_mj.point,
            low_mj=found.candidate_mj.low,
            high_mj=found.candidate_mj.high,
            window_s=statistics.fmean(window.seconds for window in taken),
            idle_w=max(0.0, statistics.fmean(idle_w)),
            baseline_mj=found.baseline_mj.point,
            ratio_low=ratio.low,
            ratio_high=ratio.high,
            windows=len(taken),
            call_us=candidate_us,
            baseline_call_us=baseline_us,
            limit_w=self.sensor.limit_w(),
            limits=(
                f"the idle device's {idle_w[0]:.4g} W before and "
                f"{idle_w[-1]:.4g} W after are taken off; the counter moves every "
                f"{self.period_s * 1e3:.0f} ms, on some GPUs after looking at a quarter of that "
                f"time; it is the whole board's; the sensor's own error (NVIDIA names 5 % for "
                "older GPUs) is not in the interval but cancels in the ratio"
            ),
        )

    def _window(self, run: Run, calls: int) -> Window:
        """Work between two changes of the counter, begun at a random phase of its period.

        The sensor may lag behind, so that the second reading waits until the work must be in it.
        """
        began, before = self._next_change()
        self.sleep(self.random.random() * self.period_s)
        runs_from = self.clock()
        run(calls)
        running_s = self.clock() - runs_from
        self.sleep(_SETTLE_PERIODS * self.period_s)
        ended, after = self._next_change()
        return Window(after - before, ended - began, calls, running_s)

    def _idle_w(self, window_s: float) -> float:
        """Power of the idle device, just after work: with its context up and its clocks raised."""
        self.sleep(_SETTLE_PERIODS * self.period_s)
        began, before = self._next_change()
        self.sleep(window_s)
        ended, after = self._next_change()
        return (after - before) / (ended - began) / 1e3

    def _find_period(self) -> float:
        """Seconds between changes of the counter: the median of several."""
        moves = [self._next_change()[0] for _ in range(_OBSERVED_CHANGES + 1)]
        return statistics.median(b - a for a, b in itertools.pairwise(moves))

    def _next_change(self) -> tuple[float, float]:
        """Wait until the counter changes; returns the time of the change and the new value."""
        stood = self.sensor.read_mj()
        deadline = self.clock() + _PATIENCE_S
        while True:
            now = self.sensor.read_mj()
            if now != stood:
                return self.clock(), now
            if self.clock() > deadline:
                raise EnergyUnavailable(
                    f"the GPU's energy counter has not moved for {_PATIENCE_S:.0f} s"
                )
            self.sleep(_POLL_S)

    def _call_s(self, run: Run) -> float:
        """Seconds per call, from ever longer runs, which also warm the device up.

        Each runs twice and the faster counts, since the first call may compile something.
        """
        calls = 1
        while True:
            took_s = min(self._took_s(run, calls) for _ in range(2))
            if took_s >= 0.2:
                return took_s / calls
            calls = min(calls * 10, math.ceil(calls * 0.3 / max(took_s, 1e-4)) + 1)

    def _took_s(self, run: Run, calls: int) -> float:
        began = self.clock()
        run(calls)
        return self.clock() - began
