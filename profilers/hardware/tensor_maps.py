"""Tensor maps: 128 bytes that tell the Tensor Memory Accelerator how an array lies in memory.

Encoded by `cuTensorMapEncodeTiled` of the CUDA driver API, whose constants these are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_ubyte, c_uint, c_uint64

from profilers.hardware import driver

TENSOR_MAP_BYTES = 128
_ALIGNMENT = 64
_TYPES = {
    "uint8": 0, "int8": 0, "int32": 3, "int64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_NO_INTERLEAVE, _PROMOTE_TO_128_BYTES, _ZEROS_OUTSIDE = 0, 2, 0

EncodedTensorMap = ctypes.Array[c_ubyte]


def encode_tensor_map(
    pointer: int,
    *,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: int,
) -> EncodedTensorMap:
    """The map of an array at `pointer`; extents and strides outermost first.

    `strides`, in bytes, are those of all axes but the innermost; `swizzle` is in bytes. What lies
    outside of the array is read as zero. CudaError if the driver refuses it.
    """
    rank = len(shape)
    extents = (c_uint64 * rank)(*reversed(shape))
    steps_between = (c_uint64 * rank)(*reversed(strides))
    tile, steps = (c_uint * rank)(*reversed(box)), (c_uint * rank)(*[1] * rank)
    room = (c_ubyte * (TENSOR_MAP_BYTES + _ALIGNMENT))()
    start = -ctypes.addressof(room) % _ALIGNMENT
    encoded = (c_ubyte * TENSOR_MAP_BYTES).from_buffer(room, start)  # keeps `room`
    driver.call(
        "cuTensorMapEncodeTiled",
        byref(encoded),
        _TYPES[dtype],
        rank,
        pointer,
        byref(extents),
        byref(steps_between),
        byref(tile),
        byref(steps),
        _NO_INTERLEAVE,
        _SWIZZLES[swizzle],
        _PROMOTE_TO_128_BYTES,
        _ZEROS_OUTSIDE,
    )
    return encoded
