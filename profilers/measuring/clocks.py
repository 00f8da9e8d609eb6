"""Three clocks over the same work: CUDA events, the worker's clock, and the judge's own.

Each times batches of consecutive calls. Its constant overhead per batch cancels in the slope over
several batch sizes, so that the slopes are times per call and must agree.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

SHARE, SLACK_US = 0.05, 3.0
"""How much two clocks may differ per call: a share plus some microseconds."""
_TICK_US = 2.0  # the resolution of an event
_MOST_CALLS = 5000
_SIZES = (0.5, 1.0, 1.5, 2.0)
_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class Batch:
    """The time of consecutive calls in microseconds, by each clock."""

    calls: int
    event_us: float
    host_us: float
    outside_us: float


@dataclass(slots=True)
class Clocks:
    """The batches of one candidate; slopes are microseconds per call."""

    batches: list[Batch] = field(default_factory=list)

    @property
    def event_us(self) -> float:
        return self._slope(lambda batch: batch.event_us)

    @property
    def host_us(self) -> float:
        return self._slope(lambda batch: batch.host_us)

    @property
    def outside_us(self) -> float:
        return self._slope(lambda batch: batch.outside_us)

    def disagreement(self) -> str | None:
        """How the clocks disagree, or None if they agree."""
        for batch in self.batches:
            if batch.event_us > batch.host_us * 1.001 + _TICK_US:
                return (
                    f"CUDA events count {batch.event_us:.0f} us within {batch.host_us:.0f} us of "
                    "the host's clock"
                )
        event = self.event_us
        for name, found in (("worker's", self.host_us), ("judge's", self.outside_us)):
            # A pause of the host lengthens a batch by its own clock, never by the events'.
            if abs(found - event) > SHARE * abs(event) + SLACK_US:
                calls = ", ".join(str(batch.calls) for batch in self.batches)
                return (
                    f"the clocks disagree: a call takes {found:.4g} us by the {name} clock, "
                    f"{event:.4g} us between CUDA events (batches of {calls} calls)"
                )
        return None

    def _slope(self, time_us: Callable[[Batch], float]) -> float:
        return slope([(batch.calls, time_us(batch)) for batch in self.batches])


def batch_sizes(call_us: float, batch_us: float, order: random.Random) -> list[int]:
    """Different batch sizes in random order; batches take about `batch_us`."""
    usual = min(_MOST_CALLS, max(2, math.ceil(batch_us / call_us)))
    sizes: list[int] = []
    for share in _SIZES:
        wanted = round(usual * share * order.uniform(1 - _JITTER, 1 + _JITTER))
        sizes.append(max(wanted, sizes[-1] + 1 if sizes else 1))
    if usual == 2:  # a call is so long that every one of them counts
        sizes = [1, 2, 3]
    order.shuffle(sizes)
    return sizes


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of a least-squares line; ValueError unless two `points` differ in x."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / max(count, 1)
    mean_y = sum(y for _, y in points) / max(count, 1)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        raise ValueError("a slope needs points that differ")
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
