"""The least time a call can take on this device: the cost side of the roofline."""

from __future__ import annotations

from dataclasses import dataclass

from mcts.domain import BoundClass, Ceilings, Work
from profilers.hardware.ceilings import math_rate


@dataclass(frozen=True, slots=True)
class Floor:
    """The time to move and to compute what a call must, in microseconds at the measured ceilings.

    `ridge` is the intensity, in operations per byte, from which arithmetic takes longer than
    copying. Fields are None if the work or the ceiling is not known.
    """

    work: Work | None = None
    memory_us: float | None = None
    compute_us: float | None = None
    ridge: float | None = None

    @classmethod
    def of(cls, work: Work | None, ceilings: Ceilings | None) -> Floor:
        if work is None or ceilings is None:
            return cls(work)
        copy, rate = ceilings.copy_gb_per_s, math_rate(ceilings, work.math)
        memory = dram_gb_per_s(ceilings, moved=work.bytes, written=work.written)
        return cls(
            work,
            memory_us=work.bytes / (memory * 1e3),
            compute_us=None if rate is None else work.flops / (rate * 1e6),
            ridge=None if rate is None else rate * 1e3 / copy,
        )

    @property
    def us(self) -> float | None:
        """The greater of both times; None if nothing bounds the call."""
        known = [time for time in (self.memory_us, self.compute_us) if time]
        return max(known) if known else None

    @property
    def intensity(self) -> float | None:
        """Operations per byte that the work needs."""
        return self.work.intensity if self.work else None

    @property
    def vote(self) -> BoundClass:
        """What would limit a perfect implementation."""
        if self.intensity is None or self.ridge is None:
            return "unknown"
        return "compute" if self.intensity > self.ridge else "memory"


def speed_of_light_us(work: Work | None, ceilings: Ceilings | None) -> float | None:
    """Least time in microseconds that any implementation can take; None if nothing bounds it.

    The greater of the least bytes over the bandwidth that probes measured for that share of writes
    and the least operations over the measured rate of their unit (Williams, Waterman, Patterson
    2009).
    """
    return Floor.of(work, ceilings).us


def dram_gb_per_s(ceilings: Ceilings, *, moved: float, written: float | None) -> float:
    """The bandwidth of device memory, in GB/s, for `moved` bytes of which some are written.

    Between what reading alone reaches and what a copy does, half of which is writing; the copy's
    where reading was not measured or the bytes written are not known.
    """
    copy, reading = ceilings.copy_gb_per_s, ceilings.read_gb_per_s
    if reading is None or written is None or not moved:
        return copy
    return reading + min(1.0, 2 * written / moved) * (copy - reading)
