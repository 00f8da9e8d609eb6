"""Random inputs in their stored form, and the other distributions to verify on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcts.domain import Buffer

Array = NDArray[Any]
STORED = {
    "float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": np.uint16,
    "int64": np.int64, "int32": np.int32, "int8": np.int8, "uint8": np.uint8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variation:
    """A distribution other than the task's own: values scaled, or the other kind of fill."""

    label: str
    scale: float = 1.0
    swapped: bool = False

    def applied(self, buffer: Buffer) -> Buffer:
        if not self.swapped:
            return buffer
        fill: Literal["normal", "uniform"] = "uniform" if buffer.fill == "normal" else "normal"
        return buffer.model_copy(update={"fill": fill})


AS_GIVEN = Variation("")
VARIATIONS = (
    Variation("inputs scaled by 0.25", scale=0.25),
    Variation("inputs scaled by 4", scale=4.0),
    Variation("normal for uniform inputs and the reverse", swapped=True),
)


def draw(
    buffer: Buffer,
    shape: Mapping[str, int],
    generator: np.random.Generator,
    *,
    scale: float = 1.0,
) -> Array:
    """Random content for an input, in its stored form (bfloat16 as its 16 bits).

    Floats follow `fill`, times `scale`; integers are uniform on [-8, 8), unsigned ones on [0, 16).
    """
    extents = buffer.extents(shape)
    if buffer.dtype in ("int64", "int32", "int8", "uint8"):
        low = 0 if buffer.dtype == "uint8" else -8
        return generator.integers(low, low + 16, size=extents, dtype=STORED[buffer.dtype])
    kind: Any = np.float64 if buffer.dtype == "float64" else np.float32
    if buffer.fill == "normal":
        values = generator.standard_normal(extents, dtype=kind)
    else:
        values = generator.random(extents, dtype=kind)
        values *= 2
        values -= 1
    if scale != 1.0:
        values *= scale
    if buffer.dtype == "bfloat16":
        return to_bfloat16(values)
    return values.astype(STORED[buffer.dtype], copy=False)


def to_bfloat16(values: Array) -> Array:
    """Bits of finite float32 values rounded to the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return (rounded >> 16).astype(np.uint16)


def widen(stored: Array, dtype: str) -> Array:
    """The stored form of an array as float64."""
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)
