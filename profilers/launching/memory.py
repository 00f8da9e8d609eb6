"""Device buffers: by name, as typed regions, and as the test cases made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from profilers.hardware import driver
from profilers.launching.programs import Region
from profilers.launching.sealing import UNSEALED, Key

ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
              "int64": 8, "int32": 4, "int8": 1, "uint8": 1}  # fmt: skip


class TypedRegion(NamedTuple):
    """A region read as elements of `dtype`, encrypted with `key` unless that is zero."""

    region: Region
    dtype: str
    key: Key = UNSEALED


@dataclass(frozen=True, slots=True)
class DeviceOutput:
    """Where a kernel writes an output, and where the expected values lie."""

    found: TypedRegion
    expected: TypedRegion
    elements: int


@dataclass(frozen=True, slots=True)
class DeviceCase:
    """One test case on the device."""

    inputs: dict[str, Region]
    outputs: dict[str, DeviceOutput]

    @property
    def regions(self) -> dict[str, Region]:
        """Buffers of the task by name."""
        return self.inputs | {name: output.found.region for name, output in self.outputs.items()}

    @property
    def guarded(self) -> dict[str, Region]:
        """Regions that no kernel may change, by a name for messages."""
        expected = {
            f"memory beyond {name}": out.expected.region for name, out in self.outputs.items()
        }
        return {f"input {name}": region for name, region in self.inputs.items()} | expected


class BufferPool:
    """Named device buffers, reused if the size is unchanged."""

    def __init__(self, context: driver.Context) -> None:
        self._context = context
        self._held: dict[str, Region] = {}

    def get(self, name: str, size: int) -> Region:
        held = self._held.get(name)
        if held is not None and held.size == size:
            return held
        if held is not None:
            self._context.free(self._held.pop(name).pointer)
        region = Region(self._context.alloc(size), size)
        self._held[name] = region
        return region

    def get_least(self, name: str, size: int) -> Region:
        """The buffer `name`, allocated anew if it has fewer than `size` bytes."""
        held = self._held.get(name)
        return held if held is not None and held.size >= size else self.get(name, size)

    def drop(self, prefix: str) -> None:
        """Free the buffers whose name starts with `prefix`."""
        for name in [name for name in self._held if name.startswith(prefix)]:
            self._context.free(self._held.pop(name).pointer)
