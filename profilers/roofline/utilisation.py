"""How busy a kernel kept each unit of the device, from its counters in comparable form."""

from __future__ import annotations

from dataclasses import dataclass

from mcts.domain import Ceilings, Hardware, KernelProfile, MemoryLevel
from mcts.domain import metrics as m
from profilers.roofline.floors import dram_gb_per_s

EXPLAINED_MARGIN = 10.0
"""Points by which the multiprocessors' throughput may exceed the unit that explains it."""
DRAM_SHARE = 0.7
"""Share of L2's throughput from which DRAM's explains it: a stream from DRAM passes through L2,
whose figure is higher by up to that factor."""
AT_BARRIERS = 0.2
"""Share of a warp's time at barriers from which the address unit is busy with those."""
SHARED_SHARE = 0.5
"""Share of the L1 data path from which its traffic counts as shared memory's."""


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Units of the whole device, each in % of what it reaches at most; None if not measured.

    `compute` is the busiest arithmetic pipe, or the issue slots; `unit` names it. `other` is the
    multiprocessors' own figure if neither arithmetic nor memory instructions explain it.
    `levels` are the levels of memory that were measured, outermost first; `memory` is the busiest.
    `occupied` is the share of multiprocessors that got a block.
    """

    compute: float | None = None
    unit: str = ""
    other: float | None = None
    memory: float | None = None
    levels: tuple[tuple[MemoryLevel, float], ...] = ()
    occupied: float = 1.0

    @property
    def dram(self) -> float | None:
        return dict(self.levels).get("DRAM")

    @property
    def busiest(self) -> float | None:
        """The busiest of all."""
        return greatest(self.compute, self.other, self.memory)

    def __str__(self) -> str:
        named = [] if self.compute is None else [(self.unit, self.compute)]
        named += [] if self.other is None else [("SM", self.other)]
        named += self.levels or ([] if self.memory is None else [("memory", self.memory)])
        shares = ", ".join(f"{name} {busy:.1f} %" for name, busy in named)
        return f"{shares} of what each reaches at most"


def utilisation(kernel: KernelProfile, hardware: Hardware | None) -> Utilisation:
    """Read one kernel's counters.

    Two of Nsight's figures need care. Pipes and issue slots are averages over the time in which an
    SM had work and ignore SMs without any, so they are capped by the throughput of all SMs over all
    the time. The throughputs of L1 and L2 include internal traffic, so that L2 reads higher than
    what it delivers when a kernel streams from DRAM; they are capped by Nsight's memory throughput,
    which excludes that.
    """
    compute, unit, other = _compute(kernel)
    levels = _levels(kernel, hardware.ceilings if hardware else None)
    blocks = kernel.value(m.GRID)
    places = kernel.value(m.MULTIPROCESSORS) or (hardware.multiprocessors if hardware else None)
    return Utilisation(
        compute=compute,
        unit=unit,
        other=other,
        memory=greatest(kernel.value(m.MEMORY), *(busy for _, busy in levels)),
        levels=levels,
        occupied=min(1.0, blocks / places) if blocks and places else 1.0,
    )


def _compute(kernel: KernelProfile) -> tuple[float | None, str, float | None]:
    """`compute`, `unit` and `other` of a kernel.

    The throughput of an SM counts its memory instructions and what they write back, so that it
    reads high for a kernel bound by L1 or shared memory: only the pipes tell arithmetic apart.
    Barriers go through the address unit, which computes nothing where warps wait at them.
    """
    issue = kernel.value(m.ISSUE)
    address = kernel.value(m.ADU_PIPE)
    waits = _barrier_share(kernel) >= AT_BARRIERS
    found = {
        "FMA pipe": kernel.value(m.FMA_PIPE),
        "ALU pipe": kernel.value(m.ALU_PIPE),
        "address unit": None if waits else address,
        "FP64 pipe": kernel.value(m.FP64_PIPE),
        "special function unit": kernel.value(m.XU_PIPE),
        "tensor cores": kernel.value(m.TENSOR_PIPE),
        "issue slots": None if issue is None else 100 * issue,
    }
    pipes = {unit: busy for unit, busy in found.items() if busy is not None}
    sm, memory_instructions = kernel.value(m.SM), kernel.value(m.LSU_PIPE)
    if not pipes:
        return sm, "SM", None
    unit = max(pipes, key=lambda name: pipes[name])
    if sm is None or pipes[unit] >= sm - EXPLAINED_MARGIN:
        return capped(pipes[unit], sm), unit, None
    if memory_instructions is None:  # unknown what keeps the SMs busy
        return sm, "SM", None
    others = max(memory_instructions, address if waits and address is not None else 0.0)
    explained = others >= sm - EXPLAINED_MARGIN
    return pipes[unit], unit, None if explained else sm


def _barrier_share(kernel: KernelProfile) -> float:
    """Share of a warp's time between two instructions that it waits at barriers."""
    waits, latency = kernel.value(m.STALL_BARRIER), kernel.value(m.WARP_LATENCY)
    return waits / latency if waits is not None and latency else 0.0


def _levels(
    kernel: KernelProfile, ceilings: Ceilings | None
) -> tuple[tuple[MemoryLevel, float], ...]:
    """How busy each measured level was. L1 includes the queue of memory instructions before it."""
    cap, sm, dram = kernel.value(m.MEMORY), kernel.value(m.SM), kernel.value(m.DRAM)
    l2 = capped(kernel.value(m.L2), cap)
    if cap is None and l2 is not None and dram is not None and dram >= DRAM_SHARE * l2:
        l2 = dram
    l2 = greatest(l2, kernel.value(m.L2_ATOMIC_UNIT), _share_of_l2(kernel, ceilings))
    queue = None if sm is None else capped(kernel.value(m.LSU_PIPE), sm)
    l1 = greatest(capped(kernel.value(m.L1), cap), queue)
    dram = greatest(dram, _share_of_dram(kernel, ceilings))
    named: dict[MemoryLevel, float | None] = {"DRAM": dram, "L2": l2, "L1": l1}
    shared = kernel.value(m.SHARED)
    if shared is not None and shared >= SHARED_SHARE * (l1 or 0.0):
        named["shared"] = greatest(named.pop("L1"), shared)
    return tuple((name, min(100.0, busy)) for name, busy in named.items() if busy is not None)


def _share_of_l2(kernel: KernelProfile, ceilings: Ceilings | None) -> float | None:
    """What L2 delivered itself (sectors that hit), in % of the bandwidth that a probe reaches.

    Its counters are relative to a peak that no access pattern comes near.
    """
    ceiling = ceilings.l2_gb_per_s if ceilings else None
    sectors, hit = kernel.value(m.L2_SECTORS), kernel.value(m.L2_HIT)
    nanoseconds = kernel.value(m.DURATION)
    if sectors is None or hit is None or not nanoseconds or not ceiling:
        return None
    return hit * sectors * m.SECTOR_BYTES / nanoseconds / ceiling


def _share_of_dram(kernel: KernelProfile, ceilings: Ceilings | None) -> float | None:
    """What DRAM delivered, in % of the bandwidth that probes reach at that share of writes.

    Its counter is relative to the datasheet's peak, of which a copy reaches some 86 %.
    """
    moved = kernel.value(m.DRAM_READ_BYTES), kernel.value(m.DRAM_WRITE_BYTES)
    nanoseconds = kernel.value(m.DURATION)
    if ceilings is None or moved[0] is None or moved[1] is None or not nanoseconds:
        return None
    total = moved[0] + moved[1]
    return 100 * total / nanoseconds / dram_gb_per_s(ceilings, moved=total, written=moved[1])


def greatest(*values: float | None) -> float | None:
    """The greatest of the known values."""
    return max((value for value in values if value is not None), default=None)


def capped(value: float | None, cap: float | None) -> float | None:
    """`value`, at most `cap` if that is known."""
    return value if value is None or cap is None else min(value, cap)
