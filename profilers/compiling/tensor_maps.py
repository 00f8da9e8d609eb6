"""Tensor maps: a plan's description of a buffer, evaluated and held to what hardware takes.

The limits are those of `cuTensorMapEncodeTiled` in the CUDA driver API, which says no more than
"invalid value" where one is broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from mcts.domain import ITEM_BYTES, Scalar, TensorMapArgument, evaluate_int
from mcts.errors import InputError
from profilers.compiling.calls import TensorMap

MAX_BOX = 256
_ALIGNMENT = 16
_MAX_EXTENT = 2**32
_MAX_STRIDE = 2**40
_SWIZZLES = (0, 32, 64, 128)


def tensor_map(
    argument: TensorMapArgument,
    names: Mapping[str, Scalar],
    *,
    dtype: str,
    extents: tuple[int, ...],
    place: str,
) -> TensorMap:
    """The map of a buffer of `extents`, or of as many elements if the argument has a shape.

    Raises InputError, which begins with `place`, for one that no device takes.
    """
    place = f"{place}: tensor map of {argument.tensor_map!r}"
    shape = tuple(evaluate_int(axis, names) for axis in argument.shape) or extents
    box = tuple(evaluate_int(axis, names) for axis in argument.box)
    swizzle = evaluate_int(argument.swizzle, names)
    if len(box) != len(shape):
        raise InputError(f"{place}: a box of {len(box)} axes, but the shape has {len(shape)}")
    if not all(1 <= axis <= _MAX_EXTENT for axis in shape):
        raise InputError(f"{place}: the shape {_listed(shape)} must lie in 1..2**32")
    if prod(shape) > prod(extents):
        raise InputError(
            f"{place}: the shape {_listed(shape)} has more elements than the buffer, "
            f"{_listed(extents)}"
        )
    if not all(1 <= axis <= MAX_BOX for axis in box):
        raise InputError(f"{place}: the box {_listed(box)} must lie in 1..{MAX_BOX}")
    item = ITEM_BYTES[dtype]
    _check_width(box[-1] * item, swizzle, place)
    return TensorMap(
        buffer=argument.tensor_map,
        dtype=dtype,
        shape=shape,
        strides=_strides(shape, item, place),
        box=box,
        swizzle=swizzle,
    )


def _check_width(inner: int, swizzle: int, place: str) -> None:
    if swizzle not in _SWIZZLES:
        raise InputError(f"{place}: swizzle is {swizzle}; it is 0, 32, 64 or 128")
    if inner % _ALIGNMENT:
        raise InputError(f"{place}: the box is {inner} bytes wide, which is no multiple of 16")
    if swizzle and inner > swizzle:
        raise InputError(
            f"{place}: the box is {inner} bytes wide, more than the {swizzle} of its swizzle"
        )


def _strides(shape: tuple[int, ...], item: int, place: str) -> tuple[int, ...]:
    strides = tuple(item * prod(shape[axis:]) for axis in range(1, len(shape)))
    for stride in strides:
        if stride % _ALIGNMENT or stride >= _MAX_STRIDE:
            raise InputError(
                f"{place}: {stride} bytes lie between neighbours of an outer axis of "
                f"{_listed(shape)}; it must be a multiple of 16, below 2**40"
            )
    return strides


def _listed(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
