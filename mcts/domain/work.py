"""The least a call must do: what rooflines and tools compare the measured with."""

from __future__ import annotations

from pydantic import Field

from mcts.domain.base import Noun
from mcts.domain.expressions import evaluate_int
from mcts.domain.task import KernelTask, MathUnit


class Work(Noun):
    """Bytes through device memory and operations on `math` that any implementation needs."""

    bytes: int = Field(ge=0)
    flops: int = Field(ge=0)
    math: MathUnit = "fp32"

    @classmethod
    def of(cls, task: KernelTask) -> Work | None:
        """The task's declared cost on its timed workload; None if none is declared."""
        if task.cost is None:
            return None
        shape = task.timed_workload.shape
        return cls(
            bytes=evaluate_int(task.cost.bytes, shape),
            flops=evaluate_int(task.cost.flops, shape),
            math=task.cost.math,
        )

    @property
    def intensity(self) -> float | None:
        """Operations per byte."""
        return self.flops / self.bytes if self.bytes else None
