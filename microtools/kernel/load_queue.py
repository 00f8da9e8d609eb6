"""Too many small global accesses queue to enter the load/store unit."""

from __future__ import annotations

from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from microtools.stalls import Remedy, Stall


def _remedy(context: KernelContext) -> Remedy:
    busy = context.value(m.LSU_PIPE)
    unit = f" (the load/store unit is {busy:.0f} % busy)" if busy is not None else ""
    wide = context.sass is not None and bool(context.sass.global_loads.get("128"))
    advice = f"waiting to enter the queue of global accesses{unit}: too many small ones. "
    if not wide:
        advice += "Widen them to 128 bits. "
    advice += (
        "Fetch what several threads read once into shared memory or registers, and hoist loads of "
        "values that do not change out of the loop"
    )
    methods = ("memory.shared_tiling", "compute.register_tiling", "memory.register_reuse")
    vectorized = () if wide else ("memory.vectorized_loads",)
    return Remedy(advice, (*vectorized, *methods), context.lines("global_loads", "global_stores"))


TOOL = Stall(
    tool="load_queue",
    reasons=(m.STALL_LG_THROTTLE,),
    axis="memory",
    threshold=0.15,
    remedy=_remedy,
).as_tool(order=230, symptom_of=frozenset({"atomic_contention", "coalescing", "register_spills"}))
