"""Triggers of tools about a whole program: launches, copies, waits, and kernels that belong
together."""

from __future__ import annotations

from mcts.domain import KernelProfile
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext
from tests.microtools.contexts import STREAM, between, kernel, make_context
from tests.microtools.triggers import Trigger

TINY = {"kernels": 100, "short_kernels": 100, "median_kernel_us": 3.0, "launches": 100}
COPIES = {"copies_to_device": 10, "copies_to_host": 10, "copied_bytes": 2_000_000}
PAGEABLE = {"pageable_copies": 20, "pageable_bytes": 2_000_000}


def _idle(share: float, **more: float) -> KernelContext:
    return make_context(timeline={**TINY, "gap_us": 1000 * share, **more})


def _step(name: str, moved: float, dram: float = 90.0) -> KernelProfile:
    """A kernel that reads and writes `moved` bytes."""
    counters = {m.DRAM_READ_BYTES: moved, m.DRAM_WRITE_BYTES: moved, m.DRAM: dram, m.DURATION: 1e5}
    return kernel(counters, name=name)


def _chain(*moved: float, dram: float = 90.0) -> KernelContext:
    first = {m.DRAM_READ_BYTES: moved[0], m.DRAM_WRITE_BYTES: moved[0], m.DRAM: dram}
    others = tuple(_step(f"step{i}", value, dram) for i, value in enumerate(moved[1:]))
    return make_context({**first, m.DURATION: 1e5}, others=others, work=STREAM)


def _beside_library(share: float, *, library: bool = True) -> KernelContext:
    """A kernel beside another that takes `share` of the time."""
    other = kernel({m.DURATION: 1e5 * share, m.SM: 90.0}, name="gemm")
    other = other.model_copy(update={"library": library})
    return make_context({m.DURATION: 1e5 * (1 - share)}, others=(other,))


HALF = STREAM.bytes / 2

TRIGGERS: dict[str, Trigger] = {
    "launch_overhead": Trigger(
        firing=lambda part: _idle(between(0.22, 0.9, part)),
        silent=[
            _idle(0.05),
            _idle(0.6, graph_launches=1),
            make_context(timeline={"kernels": 10, "gap_us": 600.0, "short_kernels": 0}),
            make_context(),  # two microseconds of a hundred
            make_context(time_us=None),
            make_context(hardware=None, time_us=3.0),
        ],
    ),
    "host_synchronisation": Trigger(
        firing=lambda part: _idle(between(0.12, 0.8, part), sync_calls=100, sync_us=400.0),
        silent=[
            _idle(0.6, sync_calls=1, sync_us=900.0),  # waits once, for the result
            _idle(0.02, sync_calls=100, sync_us=900.0),
        ],
    ),
    "small_copies": Trigger(
        firing=lambda part: make_context(
            timeline={**COPIES, "small_copies": round(between(11, 20, part)), "copy_us": 200.0}
        ),
        silent=[
            make_context(timeline={**COPIES, "small_copies": 2, "copy_us": 200.0}),
            make_context(timeline={**COPIES, "small_copies": 20, "copy_us": 10.0}),
            make_context(timeline={**COPIES, "small_copies": 5, "copy_us": 800.0}),
        ],
    ),
    "pageable_copies": Trigger(
        firing=lambda part: make_context(
            timeline={**COPIES, **PAGEABLE, "copy_us": between(110, 900, part)}
        ),
        silent=[
            make_context(timeline={**COPIES, "pageable_copies": 0, "copy_us": 900.0}),
            make_context(timeline={**COPIES, **PAGEABLE, "copy_us": 20.0}),
            make_context(  # many, but of a few bytes each
                timeline={**COPIES, **PAGEABLE, "pageable_bytes": 200_000, "copy_us": 900.0}
            ),
        ],
    ),
    "transfer_bound": Trigger(
        firing=lambda part: make_context(
            timeline={**COPIES, "busy_us": 300.0, "copy_us": between(410, 990, part)}
        ),
        silent=[
            make_context(timeline={**COPIES, "busy_us": 700.0, "copy_us": 500.0}),
            make_context(timeline={**COPIES, "busy_us": 100.0, "copy_us": 100.0}),
        ],
    ),
    "stream_serialisation": Trigger(
        firing=lambda part: make_context(
            timeline={"streams": 4, "kernels": 40, "overlapped_us": between(45, 0, part)}
        ),
        silent=[
            make_context(timeline={"streams": 4, "kernels": 40, "overlapped_us": 300.0}),
            make_context(timeline={"streams": 1, "kernels": 40}),
            make_context({m.WAVES: 20}, timeline={"streams": 4, "kernels": 40}),
        ],
    ),
    "allocations_in_loop": Trigger(
        firing=lambda part: make_context(
            timeline={**TINY, "allocations": 200, "allocation_us": between(55, 800, part)}
        ),
        silent=[
            make_context(timeline={**TINY, "allocations": 0}),
            make_context(timeline={**TINY, "allocations": 200, "allocation_us": 10.0}),
            make_context(timeline={**TINY, "allocations": 2, "allocation_us": 300.0}),
        ],
    ),
    "unfused_kernels": Trigger(
        firing=lambda part: _chain(HALF, between(0.5, 3, part) * HALF),
        silent=[
            _chain(HALF),
            _chain(HALF, HALF / 50),  # a reduction and its small second pass
            _chain(HALF, HALF, HALF, dram=3.0),
            make_context(others=(kernel(name="other"),), work=STREAM),
        ],
        needs=(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES),
    ),
    "library_kernels": Trigger(
        firing=lambda part: _beside_library(between(0.27, 0.95, part)),
        silent=[
            _beside_library(0.1),
            _beside_library(0.9, library=False),
            make_context(others=(kernel(name="gemm").model_copy(update={"library": True}),)),
        ],
        needs=(m.DURATION,),
    ),
}
