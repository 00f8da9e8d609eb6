"""What a kernel gains if one cause is removed, by a model of its time.

    time = max(u_1 l_1, ..., u_n l_n, h p (w_1 l_1 + ... + w_m l_m))

A gain is that before a repair over that after it. u is how busy a unit was, as a share of what it
can sustain; w how much of a warp's time between two instructions went to a stall; l what a repair
leaves of either. p is what more parallelism leaves of the waiting. h is 1 for a kernel that waits,
and falls to 0 as a unit fills, since what waits for a full unit waits no more once that has less to
do. The greatest term is what limits next. Where multiprocessors stood idle for part of the time, no
unit and no wait accounts for that: evening the work out leaves `Relief.span` of the whole, but no
less than the busiest unit takes of all time, idle multiprocessors included. The terms are those of
a roofline over all units (Williams, Waterman and Patterson, 2009, has two), with one for latency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcts.domain import metrics as m
from mcts.microtool.kernel_context import KernelContext
from mcts.microtool.relief import Relief

WAITING, COMPUTING = "waiting", "the multiprocessors' pipes"
_DRAM_REACHED = 0.92
"""The part of its peak that a copy reaches."""
_FILLING, _FULL = 0.65, 0.90
_LEAST_TIME = 0.01
LOW, HIGH = 0.8, 2.0
"""Within which factors of the prediction four of five repaired twins of the clinic's tuning half
and of `causes` are."""
UNITS: Mapping[str, str] = {
    m.DRAM: "DRAM",
    m.L2: "L2",
    m.L1: "L1 and the load/store path",
    m.SHARED: "shared memory",
    m.LSU_PIPE: "issuing loads and stores",
    m.FMA_PIPE: "the multiply-add pipe",
    m.ALU_PIPE: "the integer pipe",
    m.FP64_PIPE: "the double-precision pipe",
    m.XU_PIPE: "the special-function unit",
    m.TENSOR_PIPE: "the tensor cores",
    m.ADU_PIPE: "the branch and address unit",
    m.L2_ATOMIC_UNIT: "the atomic units of L2",
    m.ISSUE: "the issue slots",
}
"""The units of the model, and what limits a kernel that fills them."""
STALLS = tuple(value for name, value in vars(m).items() if name.startswith("STALL_"))


@dataclass(frozen=True, slots=True)
class Outlook:
    """How many times as fast the kernel gets, and what limits it then."""

    gain: float
    limit: str

    @property
    def low(self) -> float:
        return max(1.0, LOW * self.gain)

    @property
    def high(self) -> float:
        return HIGH * self.gain


def checked(relief: object) -> Relief:
    """The relief, if it is one whose shares lie in [0, 1]. TypeError, ValueError: it is not."""
    if not isinstance(relief, Relief):
        raise TypeError(f"{type(relief).__name__} is no Relief")
    shares = (*relief.work.values(), *relief.waits.values(), relief.parallel, relief.span)
    if not all(0 <= share <= 1 for share in shares):
        raise ValueError("what a repair leaves lies in [0, 1]")
    return relief


def outlook(context: KernelContext, relief: Relief) -> Outlook | None:
    """The kernel after a repair; None if neither its units nor its waits were measured."""
    busy = _busy(context)
    latency = context.value(m.WARP_LATENCY)
    if not busy or latency is None or latency <= 0:
        return None
    before = max(_terms(context, busy, Relief(), latency).values())
    after = _terms(context, busy, relief, latency)
    limit = max(after, key=lambda name: after[name])
    time = relief.span * min(1.0, after[limit] / before) if before > 0 else 1.0
    if relief.span < 1:
        for name, least in _of_all_time(context, relief).items():
            time, limit = max((time, limit), (least, name))
    return Outlook(gain=max(1.0, 1 / max(time, _LEAST_TIME)), limit=limit)


def _terms(
    context: KernelContext, busy: Mapping[str, float], relief: Relief, latency: float
) -> dict[str, float]:
    terms = {UNITS[unit]: share * relief.work.get(unit, 1.0) for unit, share in busy.items()}
    hidden = (_FULL - max(busy.values())) / (_FULL - _FILLING)
    waiting = min(1.0, max(0.0, hidden)) * relief.parallel
    terms[WAITING] = waiting * _left_of_waits(context, relief, latency)
    return terms


def _of_all_time(context: KernelContext, relief: Relief) -> dict[str, float]:
    """What units need of the time now, idle multiprocessors included, as far as it was counted so;
    the multiprocessors' pipes as much as instructions are issued."""
    known = context.known(m.SM, m.DRAM, m.L2, m.L1)
    reached = {m.DRAM: _DRAM_REACHED}
    return {
        UNITS.get(unit, COMPUTING): value
        / (100 * reached.get(unit, 1.0))
        * relief.work.get(m.ISSUE if unit == m.SM else unit, 1.0)
        for unit, value in known.items()
    }


def _busy(context: KernelContext) -> dict[str, float]:
    """How busy each unit was, as a share of what it can sustain."""
    known = context.known(*UNITS)
    found = {unit: value / 100 for unit, value in known.items() if unit != m.ISSUE}
    if m.DRAM in found:
        found[m.DRAM] = found[m.DRAM] / _DRAM_REACHED
    if m.ISSUE in known:
        found[m.ISSUE] = known[m.ISSUE]
    return found


def wait_left(relief: Relief, stall: str) -> float:
    """What a repair leaves of a wait; of one that it does not name, as of the instructions."""
    return relief.waits.get(stall, relief.work.get(m.ISSUE, 1.0))


def _left_of_waits(context: KernelContext, relief: Relief, latency: float) -> float:
    """What is left of a warp's time between two instructions; the issuing itself belongs to it."""
    instructions = relief.work.get(m.ISSUE, 1.0)
    known = context.known(*STALLS)
    total = max(latency, sum(known.values()))
    left = sum(value * wait_left(relief, stall) for stall, value in known.items())
    return (left + (total - sum(known.values())) * instructions) / total
