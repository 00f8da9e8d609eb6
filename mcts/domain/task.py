"""What must be computed, on which shapes, how exactly, and at what least cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Literal

from pydantic import Field, model_validator

from mcts.domain.base import Noun, tagged_hash
from mcts.domain.candidate import Candidate
from mcts.domain.dialects import CUDA, Dialect, DialectField, form_of
from mcts.domain.expressions import Scalar, evaluate_int, names_in
from mcts.domain.launch_plan import ITEM_BYTES, DType, Expression
from mcts.domain.tunables import TunableSpace
from mcts.errors import InputError
from mcts.options.policy import Policy

MathUnit = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "int32"]
Regressions = Literal["refused", "allowed"]


class Buffer(Noun):
    """A named array of the task. `shape` holds expressions over the workload's shape variables.

    Inputs are drawn per `fill`: standard normal, or uniform on [-1, 1). With `tf32` a candidate may
    cut an input of type float32 to TF32, as tensor cores do with what they multiply.
    """

    name: str
    role: Literal["input", "output"]
    dtype: DType = "float32"
    shape: tuple[Expression, ...] = Field(min_length=1)
    fill: Literal["normal", "uniform"] = "normal"
    tf32: bool = False

    @model_validator(mode="after")
    def _tensor_cores_take_it(self) -> Buffer:
        if self.tf32 and (self.role != "input" or self.dtype != "float32"):
            raise ValueError(f"buffer {self.name!r}: tf32 is for inputs of type float32")
        return self

    def extents(self, shape: Mapping[str, int]) -> tuple[int, ...]:
        """The array's extents on one workload. InputError if one is not positive."""
        extents = tuple(evaluate_int(extent, shape) for extent in self.shape)
        if any(extent <= 0 for extent in extents):
            raise InputError(f"buffer {self.name!r} has the empty shape {extents}")
        return extents

    def bytes(self, shape: Mapping[str, int]) -> int:
        total = ITEM_BYTES[self.dtype]
        for extent in self.extents(shape):
            total *= extent
        return total


def check_buffer_names(buffers: Sequence[Buffer]) -> None:
    """ValueError if two buffers have one name."""
    names = [buffer.name for buffer in buffers]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two buffers are called {name!r}")


def written_bytes(buffers: Sequence[Buffer], shape: Mapping[str, int]) -> int | None:
    """The bytes of all outputs; None if there is none."""
    outputs = [buffer for buffer in buffers if buffer.role == "output"]
    return sum(buffer.bytes(shape) for buffer in outputs) if outputs else None


class Workload(Noun):
    """One set of shape values. A weight of zero means: verified, never timed.

    If several are timed, the weight says how much each counts, such as its calls in a day.
    """

    name: str
    shape: dict[str, int]
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)


class Tolerance(Noun):
    """An output passes where |out - ref| <= absolute + relative * |ref|, everywhere."""

    relative: float = Field(default=1e-5, ge=0)
    absolute: float = Field(default=1e-6, ge=0)


class Cost(Noun):
    """The least any implementation must do: bytes through device memory, operations on a unit."""

    bytes: Expression
    flops: Expression
    math: MathUnit = "fp32"

    def work(self, names: Mapping[str, Scalar], *, written: int | None) -> Work:
        """The cost in numbers, with the bytes that are written, as far as it counts so many."""
        moved = evaluate_int(self.bytes, names)
        return Work(
            bytes=moved,
            flops=evaluate_int(self.flops, names),
            math=self.math,
            written=None if written is None else min(written, moved),
        )


class KernelTask(Noun):
    """A task: what is computed, and the baseline that speedups are measured against.

    `reference` is Python source: for `cuda` it defines ``reference(**inputs)`` over float64 numpy
    arrays, for `kernelbench` and `host` it is the problem file itself, whose ``Model`` and
    ``get_inputs`` define the buffers. A `space` task has neither source nor reference.

    regressions: whether a candidate that makes one of several timed workloads slower than the
    baseline may be handed back; if `refused`, it may still be built upon.
    """

    name: str
    dialect: DialectField = CUDA
    summary: str = ""
    baseline: Candidate
    reference: str | None = None
    buffers: tuple[Buffer, ...] = ()
    workloads: tuple[Workload, ...] = Field(min_length=1)
    cost: Cost | None = None
    tolerance: Tolerance = Tolerance()
    space: TunableSpace = TunableSpace()
    policy: Policy = Policy()
    regressions: Regressions = "refused"

    @model_validator(mode="after")
    def _consistent(self) -> KernelTask:
        if not any(workload.weight > 0 for workload in self.workloads):
            raise ValueError("no workload has a weight above zero: nothing would be timed")
        if self.dialect.has_source:
            if self.reference is None:
                raise ValueError("a task with source needs a reference")
            roles = {buffer.role for buffer in self.buffers}
            if "output" not in roles and not self.dialect.in_pytorch:
                raise ValueError("no buffer has the role output")
        if len({workload.name for workload in self.workloads}) < len(self.workloads):
            raise ValueError("two workloads share a name")
        variables = {frozenset(workload.shape) for workload in self.workloads}
        if len(variables) > 1:
            raise ValueError("all workloads must set the same shape variables")
        for buffer in self.buffers:
            for name in sorted(frozenset().union(*map(names_in, buffer.shape))):
                if name not in self.shape_names:
                    known = ", ".join(sorted(self.shape_names)) or "none"
                    close = get_close_matches(name, self.shape_names, n=1)
                    meant = f"; did you mean {close[0]}?" if close else f"; they set: {known}"
                    raise ValueError(
                        f"buffer {buffer.name!r}: its shape names {name!r}, which no workload "
                        f"sets{meant}"
                    )
        check_buffer_names(self.buffers)
        return self

    @property
    def shape_names(self) -> frozenset[str]:
        return frozenset(self.workloads[0].shape)

    @property
    def timed_workload(self) -> Workload:
        """The workload with the greatest weight: what is profiled, and placed on a roofline."""
        return max(self.workloads, key=lambda workload: workload.weight)

    @property
    def timed_workloads(self) -> tuple[Workload, ...]:
        """All that are timed, the heaviest first."""
        timed = [workload for workload in self.workloads if workload.weight > 0]
        return tuple(sorted(timed, key=lambda workload: -workload.weight))

    @property
    def weights(self) -> dict[str, float]:
        """The share of each timed workload by its name, the heaviest first; they sum to 1."""
        total = math.fsum(workload.weight for workload in self.timed_workloads)
        return {workload.name: workload.weight / total for workload in self.timed_workloads}

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        return tuple(buffer for buffer in self.buffers if buffer.role == "input")

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return tuple(buffer for buffer in self.buffers if buffer.role == "output")

    @cached_property
    def id(self) -> str:
        """Hash of what defines the measurement; the summary may change freely.

        Defaults are left out, so that recordings stay valid when a field is added. For a task with
        source, the combinations that a recording holds are left out as well. Inputs near to those
        that are drawn were once all there was, and are left out; others are not.
        """
        content = self.model_dump(mode="json", exclude={"summary"}, exclude_defaults=True)
        if self.dialect.in_pytorch:
            policy = {**content.pop("policy", {}), "inputs": self.policy.inputs}
            if policy["inputs"] == "drawn":
                del policy["inputs"]
            content |= {"policy": policy} if policy else {}
        if self.dialect.has_source and self.space.rows:
            del content["space"]["rows"]
        return tagged_hash("task", content)

    def dialect_of(self, source: str) -> Dialect:
        """The dialect of a source, among those that this task takes."""
        return form_of(self.dialect, source)

    def allows(self, space: TunableSpace, configuration: Mapping[str, object]) -> bool:
        """Whether `configuration` satisfies the `where` of `space` on every workload."""
        return all(space.allows(configuration, load.shape) for load in self.workloads)  # type: ignore[arg-type]


class Work(Noun):
    """The least a call must do: bytes through device memory, and operations on `math`.

    `written` is how many of the bytes are written, None where that is not known.
    """

    bytes: int = Field(ge=0)
    flops: int = Field(ge=0)
    math: MathUnit = "fp32"
    written: int | None = Field(default=None, ge=0)

    @classmethod
    def of(cls, task: KernelTask) -> Work | None:
        """The task's declared cost on its timed workload; None if none is declared."""
        if task.cost is None:
            return None
        shape = task.timed_workload.shape
        return task.cost.work(shape, written=written_bytes(task.buffers, shape))

    @property
    def intensity(self) -> float | None:
        """Operations per byte."""
        return self.flops / self.bytes if self.bytes else None


def declared_space(task: KernelTask, source: str) -> TunableSpace:
    """The tunables that a source declares, or the task's if it declares none of its own.

    If only some of the task's combinations exist (`TunableSpace.rows`), that holds for a source
    that declares the same tunables. Raises InputError if the declaration cannot be read.
    """
    declared = task.dialect_of(source).space_of(source)
    if declared is None or (task.space.rows and declared.tunables == task.space.tunables):
        return task.space
    return declared
