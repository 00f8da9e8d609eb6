"""Whether several timed workloads fit on the device together, asked before any case is drawn."""

from __future__ import annotations

import math

from mcts.domain import KernelTask, Workload
from mcts.errors import InputError
from profilers.cuda.cases import expected_dtype
from profilers.launching.memory import ITEM_BYTES
from profilers.measuring.blocks import buffer_set_bytes

MEMORY_SHARE = 0.75
"""Share of the device's memory for several timed workloads; the rest is for candidates."""
_SETS = 2  # of buffers to time on, at least


def check_room(task: KernelTask, *, memory_bytes: int | None, cases: int) -> None:
    """InputError if the timed workloads do not fit on the device together; names the first.

    `cases` is how many of each stay there. A single workload may use all memory, and fails late.
    """
    timed = task.timed_workloads
    if len(timed) < 2 or memory_bytes is None:
        return
    held = 0
    for workload in timed:
        need = resident_bytes(task, workload, cases=cases)
        if held + need > MEMORY_SHARE * memory_bytes:
            beside = f" beside the {_gib(held)} of heavier ones" if held else ""
            raise InputError(
                f"task {task.name}: the timed workload {workload.name} does not fit on the device: "
                f"it needs {_gib(need)}{beside}, and timed workloads may take "
                f"{_gib(MEMORY_SHARE * memory_bytes)}; make it smaller, or verify it only "
                "(weight = 0)"
            )
        held += need


def resident_bytes(task: KernelTask, workload: Workload, *, cases: int) -> int:
    """Bytes of device memory that a timed workload keeps across candidates."""
    sizes = {buffer.name: buffer.bytes(workload.shape) for buffer in task.buffers}
    inputs = sum(sizes[buffer.name] for buffer in task.inputs)
    outputs = sum(sizes[buffer.name] for buffer in task.outputs)
    elements = sum(math.prod(buffer.extents(workload.shape)) for buffer in task.outputs)
    expected = elements * ITEM_BYTES[expected_dtype(elements)]
    return cases * (inputs + expected) + outputs + _SETS * buffer_set_bytes(sizes.values())


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.4g} MiB"
