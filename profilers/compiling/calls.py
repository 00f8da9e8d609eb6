"""A call: a launch plan evaluated for one workload, ready to be sent to a worker.

Nothing here depends on tasks or expressions, so that a worker imports neither.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Argument = tuple[str, Any]
"""("buffer", name), ("tensor_map", TensorMap) or (scalar type, value)."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """How the Tensor Memory Accelerator sees a buffer, outermost axis first.

    strides: bytes between neighbours of every axis but the innermost. swizzle: in bytes.
    """

    buffer: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TensorMap:
        extents = {name: tuple(data[name]) for name in ("shape", "strides", "box")}
        return cls(**{**data, **extents})


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel launch, or the zero fill of the buffer `memset`."""

    kernel: str | None = None
    memset: str | None = None
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    args: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """The steps of one call, and the scratch buffers (bytes by name) they need."""

    steps: tuple[Step, ...]
    workspaces: dict[str, int] = field(default_factory=dict)

    @property
    def launches(self) -> tuple[Step, ...]:
        """The kernel launches among the steps."""
        return tuple(step for step in self.steps if step.kernel is not None)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels launched, each once, in order."""
        return tuple(dict.fromkeys(step.kernel for step in self.steps if step.kernel))

    def distinct(self) -> tuple[tuple[int, int], ...]:
        """Launches to profile separately: the position of the first one of each kernel, grid and
        block, and how often that launch occurs in the call."""
        first: dict[tuple[object, ...], int] = {}
        count: dict[int, int] = {}
        for index, step in enumerate(self.steps):
            if step.kernel is not None:
                same = (step.kernel, step.grid, step.block, step.shared)
                place = first.setdefault(same, index)
                count[place] = count.get(place, 0) + 1
        return tuple(sorted(count.items()))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Call:
        steps = tuple(
            Step(
                kernel=step["kernel"],
                memset=step["memset"],
                grid=tuple(step["grid"]),
                block=tuple(step["block"]),
                shared=step["shared"],
                args=tuple(_argument(kind, value) for kind, value in step["args"]),
            )
            for step in data["steps"]
        )
        return cls(steps=steps, workspaces=dict(data["workspaces"]))


def _argument(kind: str, value: Any) -> Argument:
    return (kind, TensorMap.from_json(value) if kind == "tensor_map" else value)
