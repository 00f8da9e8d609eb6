"""The task gate: whether a task can be judged at all, asked of its reference before any timing.

If a constant passed for the result, a kernel that returns it would be as right as any other, and
faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mcts.domain import KernelTask, Workload
from mcts.errors import UnfairTask
from profilers.cuda.drawing import Array, draw, widen

Outputs = Mapping[str, Array]
Reference = Callable[[Outputs, Workload], Outputs]
"""Expected outputs by name, of inputs by name."""


def check_task(task: KernelTask, reference: Reference, *, ungated: bool = False) -> tuple[str, ...]:
    """Notes that a reader of this task's results should know; empty for a sound task.

    The reference is run on the smallest workload. UnfairTask if it gives two results
    for the same inputs or a NaN, or if all outputs stay within the task's tolerance when every
    input changes; with `ungated` these become notes. A single output or input without effect only
    gives a note.
    """
    workload = smallest(task)
    generator = np.random.default_rng()
    inputs = _draw(task, workload, generator)
    first = reference(inputs, workload)
    marks: list[str] = []
    faults: list[str] = []
    with np.errstate(all="ignore"):
        faults += [
            f"its reference gives NaN for output {name}, which nothing can equal"
            for name, output in first.items()
            if bool(np.isnan(output).any())
        ]
        again = reference(inputs, workload)
        if not all(_identical(first[name], again[name]) for name in first):
            faults.append("its reference gives two results for the same inputs")
        other = reference(_draw(task, workload, generator), workload)
        fixed = [name for name in first if _passes(task, other[name], first[name])]
        if len(fixed) == len(first):
            faults.append(
                "its outputs do not depend on its inputs: what is right for one set of inputs "
                "passes for another"
            )
        else:
            marks += [f"output {name} does not depend on the inputs" for name in fixed]
            marks += _idle_inputs(task, reference, workload, inputs, first, generator)
    if faults and not ungated:
        raise UnfairTask(f"task {task.name} cannot be judged: {'; '.join(faults)}")
    return (*faults, *marks)


def smallest(task: KernelTask) -> Workload:
    """The workload with the fewest bytes in its buffers."""
    return min(task.workloads, key=lambda workload: workload_bytes(task, workload))


def workload_bytes(task: KernelTask, workload: Workload) -> int:
    return sum(buffer.bytes(workload.shape) for buffer in task.buffers)


def _idle_inputs(
    task: KernelTask,
    reference: Reference,
    workload: Workload,
    inputs: Mapping[str, Array],
    first: Outputs,
    generator: np.random.Generator,
) -> list[str]:
    """A note for each input that can change without changing any output."""
    if len(inputs) < 2:  # the only input was changed already
        return []
    marks = []
    for name, changed in _draw(task, workload, generator).items():
        found = reference({**inputs, name: changed}, workload)
        if all(_passes(task, found[output], first[output]) for output in first):
            marks.append(f"no output depends on input {name}")
    return marks


def _draw(task: KernelTask, workload: Workload, generator: np.random.Generator) -> dict[str, Array]:
    return {
        buffer.name: widen(draw(buffer, workload.shape, generator), buffer.dtype)
        for buffer in task.inputs
    }


def _identical(one: Array, other: Array) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def _passes(task: KernelTask, found: Array, expected: Array) -> bool:
    """Whether all of `found` is within the tolerance of `expected`."""
    allowed = task.tolerance.absolute + task.tolerance.relative * np.abs(expected)
    return bool(np.all((found == expected) | (np.abs(found - expected) <= allowed)))
