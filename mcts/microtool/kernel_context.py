"""What a tool sees: one kernel of a profile, with what was measured around it.

Everything here returns None (or False) for what was not measured, so that a tool never fires on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mcts.domain import (
    BoundClass,
    Hardware,
    KernelProfile,
    Profile,
    Roofline,
    SassFacts,
    SassLoop,
    TimelineFacts,
    Work,
)
from mcts.domain import metrics as m

DRAM_EASY, DRAM_FULL = 50.0, 80.0
"""% of peak up to which DRAM has ample room, and from which real traffic gets it no busier."""
PIPE_FULL = 80.0
"""% of peak from which an arithmetic pipe is the limit (Nsight's own rule)."""
BUSY = 60.0
"""% of peak from which a unit counts as busy (Nsight's own rule)."""
REUSING = 4.0
"""Operations per least byte from which a task uses each value several times."""
_PIPES = (m.FMA_PIPE, m.ALU_PIPE, m.FP64_PIPE, m.XU_PIPE, m.TENSOR_PIPE)
_TENSOR_AT_WORK = 30.0
_WAITING_FOR_MMA = 0.15


@dataclass(frozen=True)
class KernelContext:
    """One kernel, the profile it belongs to, the least work and the time of a call.

    `work` is None if no cost was declared, `time_us` None if nothing was timed. For a tool of level
    `system`, `kernel` is the one that takes longest.
    """

    work: Work | None
    profile: Profile
    kernel: KernelProfile
    time_us: float | None = None

    @property
    def roofline(self) -> Roofline | None:
        return self.profile.roofline

    @property
    def bound(self) -> BoundClass:
        return self.roofline.bound if self.roofline else "unknown"

    @property
    def sass(self) -> SassFacts | None:
        return self.kernel.sass

    @property
    def timeline(self) -> TimelineFacts | None:
        return self.profile.timeline

    @property
    def hardware(self) -> Hardware | None:
        return self.profile.hardware

    @cached_property
    def share(self) -> float | None:
        """This kernel's share of the profiled time, in [0, 1]; None if it was not timed."""
        own = self.kernel.total_us
        total = sum(kernel.total_us or 0.0 for kernel in self.profile.kernels)
        return None if own is None or total <= 0 else own / total

    def value(self, metric: str) -> float | None:
        """The kernel's counter, or None if it was not measured."""
        return self.kernel.value(metric)

    def values(self, *metrics: str) -> tuple[float, ...] | None:
        """All of `metrics`, or None if one of them was not measured."""
        known = self.known(*metrics)
        return tuple(known.values()) if len(known) == len(metrics) else None

    def known(self, *metrics: str) -> dict[str, float]:
        """Those of `metrics` that were measured."""
        found = {metric: self.value(metric) for metric in metrics}
        return {metric: value for metric, value in found.items() if value is not None}

    def stall_share(self, *stalls: str) -> float | None:
        """Share of a warp's time between two instructions spent on `stalls`, in [0, 1].

        None if none of them was measured.
        """
        latency = self.value(m.WARP_LATENCY)
        known = self.known(*stalls)
        if not known or latency is None or latency <= 0:
            return None
        return min(1.0, sum(known.values()) / latency)

    @property
    def dram_saturated(self) -> bool:
        """Whether DRAM was measured to be the limit: waits elsewhere are then its symptoms."""
        dram = self.value(m.DRAM)
        return dram is not None and dram >= DRAM_FULL

    @property
    def dram_headroom(self) -> float:
        """How much a better use of DRAM can gain: 1 up to 50 % busy, 0 from DRAM_FULL on.

        1 if it was not measured.
        """
        dram = self.value(m.DRAM)
        if dram is None:
            return 1.0
        return min(1.0, max(0.0, (DRAM_FULL - dram) / (DRAM_FULL - DRAM_EASY)))

    @property
    def busiest(self) -> float | None:
        """% of peak of the busiest unit, computing or memory."""
        known = self.known(m.SM, m.MEMORY, m.DRAM, m.L1, m.L2)
        return max(known.values(), default=None)

    @property
    def busy(self) -> bool:
        """Whether a unit was measured to be busy: more warps would then only queue for it."""
        return (self.busiest or 0.0) >= BUSY

    @property
    def busiest_pipe(self) -> tuple[str, float] | None:
        """The busiest arithmetic pipe and its % of peak."""
        known = self.known(*_PIPES)
        return max(known.items(), key=lambda item: item[1], default=None)

    @property
    def pipe_saturated(self) -> bool:
        """Whether an arithmetic pipe is full: waiting for it is then not a fault."""
        return self.busiest_pipe is not None and self.busiest_pipe[1] >= PIPE_FULL

    @property
    def warp_specialised(self) -> bool:
        """Whether few warps feed tensor cores asynchronously: idle schedulers and low occupancy
        are then the design, not a fault."""
        waiting = self.stall_share(m.STALL_GMMA) or 0.0
        tensor = self.value(m.TENSOR_PIPE) or 0.0
        fed = self.sass is not None and bool(self.sass.bulk_copies and self.sass.tensor_ops)
        return tensor >= _TENSOR_AT_WORK or waiting >= _WAITING_FOR_MMA or fed

    @property
    def memory_matters(self) -> bool:
        """Whether global accesses may be what takes the time; True if that was not measured."""
        percent = max(self.known(m.MEMORY, m.DRAM, m.L1, m.L2).values(), default=None)
        waits = self.stall_share(m.STALL_LONG_SCOREBOARD, m.STALL_LG_THROTTLE, m.STALL_DRAIN)
        if percent is None and waits is None:
            return True
        return (percent or 0.0) >= BUSY / 2 or (waits or 0.0) >= 0.25

    @property
    def stages_tiles(self) -> bool:
        """Whether tiles go through registers into shared memory, to be used several times there.

        A reduction's scratch is no tile: it belongs to a task that uses each value once, and gets
        fewer bits than were loaded to be reduced.
        """
        if self.sass is None or self.sass.async_copies or self.sass.bulk_copies:
            return False
        loads, stores = sum(self.sass.global_loads.values()), sum(self.sass.shared_stores.values())
        reusing = self.intensity is None or self.intensity >= REUSING
        in_a_loop = any(loop.global_loads and loop.barriers >= 2 for loop in self.sass.loops)
        by_count = self.sass.barriers >= 2 and stores >= loads > 0
        whole = _bits(self.sass.shared_stores) >= _bits(self.sass.global_loads) > 0
        return stores > 0 and ((reusing and (in_a_loop or by_count)) or (in_a_loop and whole))

    @property
    def least_bytes(self) -> int | None:
        """Bytes any implementation must move in one call; None if undeclared or zero."""
        return (self.work.bytes or None) if self.work else None

    @property
    def intensity(self) -> float | None:
        """The task's operations per least byte."""
        return self.work.intensity if self.work else None

    @property
    def only_kernel(self) -> bool:
        """Whether the kernel does all of a call, so that the call's least work is its own."""
        return len(self.profile.kernels) == 1 and self.kernel.launches == 1

    @property
    def hot_loops(self) -> tuple[SassLoop, ...]:
        """The loops of the code that most likely take the time."""
        return self.sass.hot_loops if self.sass else ()

    @property
    def hot_lines(self) -> tuple[int, ...]:
        """Source lines of the hot loops."""
        return tuple(sorted({loop.line for loop in self.hot_loops if loop.line is not None}))

    def lines(self, *fields: str) -> tuple[int, ...]:
        """Source lines of the instructions behind counts of `SassFacts`.

        A field counted by width stands for all its widths: ``global_loads`` for
        ``global_loads.32`` and the others.
        """
        if self.sass is None:
            return ()
        found = {
            line
            for key, places in self.sass.lines.items()
            if key in fields or key.partition(".")[0] in fields
            for line in places
        }
        return tuple(sorted(found))


def _bits(widths: Mapping[str, int]) -> int:
    return sum(int(bits) * count for bits, count in widths.items())
