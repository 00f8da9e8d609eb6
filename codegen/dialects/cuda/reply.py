"""Replies with one file of CUDA: found among the blocks, with its launch plan, and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codegen.plan_text import kernel_names, plan_of, with_defaults
from codegen.replies.files import check_size, from_plan, texts_of
from codegen.replies.patches import has_patch, patched
from codegen.replies.text import ReplyText
from mcts.domain import (
    Candidate,
    KernelTask,
    LaunchPlan,
    Scalar,
    evaluate,
    evaluate_int,
    find_plan_comment,
)
from mcts.errors import InputError, ProposalRejected
from mcts.ports import ProposalRequest

_MAX_BLOCK_THREADS = 1024
_GRID_LIMITS = (2**31 - 1, 65535, 65535)


def cuda_candidate(reply: ReplyText, request: ProposalRequest) -> Candidate:
    """The file that a reply holds, with the defaults of its tunables."""
    source = _source(reply, request)
    check_size(source)
    try:
        plan = plan_of(source)
        values = plan.space.default()
        _check_names(plan, request.task)
        check_launches(plan, request.task, values)
    except InputError as error:
        raise ProposalRejected(f"the reply's launch plan cannot be used: {error}") from None
    _check_code(source, plan)
    own, parent = Candidate(source=source, tunables=values), request.parent
    if own.id in request.tried:
        return own
    if with_defaults(parent.source, values).strip() == source.strip():
        # Only values changed: the same candidate as any other move to them.
        return Candidate(source=parent.source, tunables=values)
    return own


def _source(reply: ReplyText, request: ProposalRequest) -> str:
    """One file out of the blocks, the last that is complete: what stands before it is quoted or
    a draft. A plan may stand in a block of its own or be the parent's.
    """
    texts = texts_of(reply)
    planned = [text for text in texts if find_plan_comment(text)]
    both = [text for text in planned if "__global__" in text]
    if both and not (has_patch(reply) and "<<<<<" in both[-1]):
        return from_plan(both[-1])
    if has_patch(reply):
        parent = request.parent
        return patched(reply, with_defaults(parent.source, parent.tunables))
    coded = [text for text in texts if "__global__" in text]
    if not coded:
        raise ProposalRejected("the reply holds no CUDA code: no block with a __global__ function")
    code = max(coded, key=len)
    if planned:
        return from_plan(planned[-1]).strip() + "\n" + code
    return _with_parents_plan(code, request)


def _with_parents_plan(code: str, request: ProposalRequest) -> str:
    parent = request.parent
    found = find_plan_comment(with_defaults(parent.source, parent.tunables))
    if found is None:
        raise ProposalRejected("the reply's code has no /* rooftree ... */ launch plan")
    launched = frozenset(plan_of(parent.source).kernels)
    if not launched <= kernel_names(code):
        raise ProposalRejected(
            "the reply's code has no /* rooftree ... */ launch plan, and its kernels are not the "
            f"parent's ({', '.join(sorted(launched))}), so the parent's plan does not fit either"
        )
    return found[0] + "\n" + code


def _check_names(plan: LaunchPlan, task: KernelTask) -> None:
    """Raise InputError for a name that neither the task nor the plan declares."""
    buffers = frozenset(buffer.name for buffer in task.buffers)
    plan.check_names(buffers=buffers, shape=task.shape_names)


def check_launches(plan: LaunchPlan, task: KernelTask, values: Mapping[str, Scalar]) -> None:
    """Raise InputError unless launches with `values` make sense on every workload."""
    if not task.allows(plan.space, values):
        raise InputError("its own `where` excludes the default values on a workload")
    for workload in task.workloads:
        names: dict[str, Scalar] = {**workload.shape, **values}
        for step in plan.launch:
            if step.kernel is None or (step.when is not None and not evaluate(step.when, names)):
                continue
            place = f"launch of {step.kernel} on workload {workload.name!r}"
            grid = [evaluate_int(expression, names) for expression in step.grid]
            block = [evaluate_int(expression, names) for expression in step.block]
            _check_extents(place, grid, block)
            if evaluate_int(step.shared, names) < 0:
                raise InputError(f"{place}: shared memory is negative")


def _check_extents(place: str, grid: list[int], block: list[int]) -> None:
    """Raise InputError for a grid or block that no GPU launches."""
    if min(grid + block) < 1:
        raise InputError(f"{place}: grid {grid} and block {block} must be positive")
    threads = 1
    for extent in block:
        threads *= extent
    if threads > _MAX_BLOCK_THREADS:
        raise InputError(f"{place}: {threads} threads per block, at most 1024 are possible")
    if any(extent > limit for extent, limit in zip(grid, _GRID_LIMITS, strict=False)):
        raise InputError(f"{place}: grid {grid} exceeds the limits {list(_GRID_LIMITS)}")


def _check_code(source: str, plan: LaunchPlan) -> None:
    defined = kernel_names(source)
    for kernel in plan.kernels:
        if kernel not in defined:
            listed = ", ".join(sorted(defined)) or "none"
            raise ProposalRejected(
                f"the plan launches {kernel!r}, which is no __global__ function of the code; "
                f"defined: {listed}"
            )
    if not re.search(r'extern\s+"C"', source):
        raise ProposalRejected('kernels must be declared extern "C", so that they keep their names')
