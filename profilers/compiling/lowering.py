"""Lowering: from the expressions of a launch plan to the values of a call on one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcts.domain import (
    ITEM_BYTES,
    Buffer,
    Candidate,
    KernelArgument,
    KernelTask,
    Launch,
    LaunchPlan,
    Scalar,
    ScalarArgument,
    TensorMapArgument,
    Workload,
    evaluate,
    evaluate_float,
    evaluate_int,
)
from mcts.errors import InputError
from profilers.compiling.calls import Argument, Call, Step
from profilers.compiling.tensor_maps import tensor_map

MAX_BLOCK_THREADS = 1024
MAX_WORKSPACE_BYTES = 2**40
"""More than any device has; beyond this the driver's 64-bit sizes could overflow."""
_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_RANGES = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32), "int64": (-(2**63), 2**63)}


class _Array(NamedTuple):
    """What a buffer or workspace holds on one workload."""

    dtype: str
    extents: tuple[int, ...]


def configuration(plan: LaunchPlan, candidate: Candidate) -> dict[str, Scalar]:
    """The candidate's tunables over the plan's defaults; InputError for a value out of range."""
    values = {**plan.space.default(), **candidate.tunables}
    plan.space.check(values)
    return values


def lower(
    task: KernelTask, plan: LaunchPlan, values: Mapping[str, Scalar], workload: Workload
) -> Call:
    """Evaluate the plan on `workload`.

    Raises InputError, which says how to fix the plan, if no device could launch the call.
    """
    return lower_plan(
        plan,
        values,
        shape=workload.shape,
        buffers=task.buffers,
        place=f"on workload {workload.name!r}",
    )


def lower_plan(
    plan: LaunchPlan,
    values: Mapping[str, Scalar],
    *,
    shape: Mapping[str, int],
    buffers: Sequence[Buffer],
    place: str,
) -> Call:
    """Evaluate the plan for one set of shape values; `place` begins every message.

    Raises InputError if no device could launch the call.
    """
    names: dict[str, Scalar] = {**shape, **values}
    if not plan.space.allows(values, shape):
        failed = next(where for where in plan.where if not evaluate(where, names))
        raise InputError(f"{place}: these tunables break the plan's own `where` {failed!r}")
    workspaces = {}
    memory = {one.name: _Array(one.dtype, one.extents(shape)) for one in buffers}
    for item in plan.workspace:
        size = evaluate_int(item.size, names)
        size_bytes = size * ITEM_BYTES[item.dtype]
        if not 0 < size_bytes <= MAX_WORKSPACE_BYTES:
            raise InputError(f"{place}: workspace {item.name!r} has {_shown(size)} elements")
        workspaces[item.name] = size_bytes
        memory[item.name] = _Array(item.dtype, (size,))
    steps = tuple(
        _step(step, names, memory, f"{place}, launch {number}")
        for number, step in enumerate(plan.launch, 1)
        if step.when is None or evaluate(step.when, names)
    )
    if not any(step.kernel for step in steps):
        raise InputError(f"{place}: no `when` holds, so that no kernel is launched")
    return Call(steps=steps, workspaces=workspaces)


def _step(
    step: Launch, names: Mapping[str, Scalar], memory: Mapping[str, _Array], place: str
) -> Step:
    if step.kernel is None:
        return Step(memset=step.memset)
    place = f"{place} ({step.kernel})"
    grid = _extents("grid", step.grid, names, _GRID_LIMITS, place)
    block = _extents("block", step.block, names, _BLOCK_LIMITS, place)
    threads = block[0] * block[1] * block[2]
    if threads > MAX_BLOCK_THREADS:
        raise InputError(f"{place}: a block of {threads} threads; at most {MAX_BLOCK_THREADS}")
    shared = evaluate_int(step.shared, names)
    if not 0 <= shared < 2**31:
        raise InputError(f"{place}: {_shown(shared)} bytes of shared memory")
    arguments = tuple(_argument(item, names, memory, place) for item in step.args)
    return Step(kernel=step.kernel, grid=grid, block=block, shared=shared, args=arguments)


def _extents(
    what: str,
    expressions: Sequence[str | int],
    names: Mapping[str, Scalar],
    limits: tuple[int, int, int],
    place: str,
) -> tuple[int, int, int]:
    values = [evaluate_int(expression, names) for expression in expressions]
    for axis, value, limit in zip("xyz", values, limits, strict=False):
        if not 1 <= value <= limit:
            raise InputError(
                f"{place}: {what}.{axis} is {_shown(value)}; it must lie in 1..{limit}"
            )
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


def _argument(
    item: KernelArgument,
    names: Mapping[str, Scalar],
    memory: Mapping[str, _Array],
    place: str,
) -> Argument:
    if isinstance(item, TensorMapArgument):
        array = memory[item.tensor_map]
        found = tensor_map(item, names, dtype=array.dtype, extents=array.extents, place=place)
        return ("tensor_map", found)
    if isinstance(item, str) and item in memory:
        return ("buffer", item)
    kind = item.type if isinstance(item, ScalarArgument) else "int32"
    expression = item.value if isinstance(item, ScalarArgument) else item
    if kind in ("float32", "float64"):
        try:
            return (kind, evaluate_float(expression, names))
        except InputError as error:
            raise InputError(f"{place}: argument: {error}") from None
    whole = evaluate_int(expression, names)
    low, end = _RANGES[kind]
    if not low <= whole < end:
        hint = "; declare it as { value = ..., type = 'int64' }" if kind == "int32" else ""
        raise InputError(f"{place}: argument {_shown(whole)} does not fit {kind}{hint}")
    return (kind, whole)


def _shown(value: object) -> str:
    """A number for a message, truncated if it has too many digits."""
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
