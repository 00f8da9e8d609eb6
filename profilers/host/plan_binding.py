"""Binds a plan to actual tensors: names get extents, expressions get values."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from mcts.domain import HostPlan, Scalar, evaluate, evaluate_int
from mcts.errors import InputError
from profilers.host.entry import real_arguments, whole_arguments


class HostCallError(RuntimeError):
    """The launcher refused, or the plan does not fit what it was called with."""


def init_values(plan: HostPlan, init: Sequence[Any]) -> dict[str, Scalar]:
    """The constructor's numbers by the names that the plan gives them; `_` skips one."""
    named: dict[str, Scalar] = {}
    for name, value in zip(plan.init, init, strict=False):
        if name != "_":
            if not isinstance(value, int | float):
                kind = type(value).__name__
                raise HostCallError(f"init {name!r} is a {kind}: only numbers have names, write _")
            named[name] = value
    if len(plan.init) > len(init):
        raise HostCallError(
            f"the plan names {len(plan.init)} values of init, there are {len(init)}"
        )
    return named


def bind_extents(
    name: str, shape: Sequence[str | int], dtype: str, tensor: Any, names: dict[str, Scalar]
) -> None:
    """Bind new names in a declared shape to a tensor's extents, and check known ones."""
    found = str(tensor.dtype).removeprefix("torch.")
    if found != dtype:
        raise InputError(f"{name!r} is {found}, the plan says {dtype}")
    extents = tuple(tensor.shape)
    if len(extents) != len(shape):
        raise InputError(f"{name!r} has the shape {extents}, the plan says {list(shape)}")
    for declared, extent in zip(shape, extents, strict=True):
        if isinstance(declared, str) and declared.isidentifier() and declared not in names:
            names[declared] = int(extent)
        elif evaluate_int(declared, names) != extent:
            wanted = evaluate_int(declared, names)
            raise InputError(f"{name!r}: {declared} is {wanted}, and the tensor has {extent} there")


def output_extents(
    name: str, shape: Sequence[str | int], names: Mapping[str, Scalar]
) -> tuple[int, ...]:
    extents = tuple(evaluate_int(extent, names) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise InputError(f"output {name!r} would have the shape {extents}")
    return extents


def integer_arguments(plan: HostPlan, names: Mapping[str, Scalar]) -> Any:
    values = [evaluate_int(expression, names) for expression in whole_arguments(plan)]
    if any(not -(2**63) <= value < 2**63 for value in values):
        raise InputError("a whole number beyond 64 bits")
    return (ctypes.c_longlong * max(1, len(values)))(*values)


def float_arguments(plan: HostPlan, names: Mapping[str, Scalar]) -> Any:
    values = [evaluate(expression, names) for expression in real_arguments(plan)]
    return (ctypes.c_double * max(1, len(values)))(*(float(value) for value in values))
