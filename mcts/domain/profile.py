"""What the hardware did: counters by their Nsight names, SASS facts, the roofline position."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mcts.domain.base import Noun

BoundClass = Literal["compute", "memory", "latency", "launch", "mixed", "unknown"]
Axis = Literal["compute", "memory", "latency"]


class Metric(Noun):
    """One counter's value in `unit` (Nsight base units: %, ns, byte, inst, ...)."""

    value: float = Field(allow_inf_nan=False)
    unit: str = ""


class SassFacts(Noun):
    """Facts read from a kernel's machine code; instruction counts are static, not executed.

    `global_loads` and `global_stores` count LDG/STG by width in bits ("32", "64", "128", ...).
    `code_hash` covers opcodes and operands with addresses removed: equal hash, equal program.
    """

    instructions: int = Field(ge=0)
    registers: int | None = Field(default=None, ge=0)
    shared_bytes: int | None = Field(default=None, ge=0)
    stack_bytes: int | None = Field(default=None, ge=0)
    local_loads: int = 0
    local_stores: int = 0
    global_loads: dict[str, int] = {}
    global_stores: dict[str, int] = {}
    shared_loads: dict[str, int] = {}
    shared_stores: dict[str, int] = {}
    async_copies: int = 0
    bulk_copies: int = 0
    tensor_ops: int = 0
    fma_ops: int = 0
    fadd_ops: int = 0
    fmul_ops: int = 0
    special_ops: int = 0
    double_ops: int = 0
    conversion_ops: int = 0
    atomic_ops: int = 0
    barriers: int = 0
    shuffles: int = 0
    branches: int = 0
    code_hash: str = ""


class KernelProfile(Noun):
    """One kernel of the plan: counters by Nsight metric name, and SASS facts where read."""

    name: str
    metrics: dict[str, Metric] = {}
    sass: SassFacts | None = None

    def value(self, metric: str) -> float | None:
        """The metric's value, or None where it was not measured."""
        found = self.metrics.get(metric)
        return None if found is None else found.value


class AxisGap(Noun):
    """How far from the ceiling, in [0, 1]: 0 at the ceiling, 1 with nothing achieved."""

    compute: float = Field(ge=0, le=1)
    memory: float = Field(ge=0, le=1)
    latency: float = Field(ge=0, le=1)


class Roofline(Noun):
    """Where a kernel stands under its roofline.

    `gap` is the distance to each ceiling; `method_budget` shares three method slots over the
    axes, at most two per axis; `near_peak` means all gaps are small and little is left.
    `speed_of_light_us` is the floor from the task's cost over the measured ceilings.
    """

    bound: BoundClass
    confidence: float = Field(ge=0, le=1)
    gap: AxisGap
    near_peak: bool
    method_budget: dict[Axis, int]
    intensity_flop_per_byte: float | None = None
    ridge_flop_per_byte: float | None = None
    speed_of_light_us: float | None = None
    reason: str = ""


class Profile(Noun):
    """The kernels of one candidate, in launch order; `missing` says what is not known, and why.

    A quantity that was not measured is absent here and named in `missing`: never zero.
    """

    kernels: tuple[KernelProfile, ...] = ()
    roofline: Roofline | None = None
    missing: dict[str, str] = {}

    @property
    def dominant(self) -> KernelProfile | None:
        """The kernel that took longest, or the first where durations are unknown."""
        if not self.kernels:
            return None
        return max(self.kernels, key=lambda kernel: kernel.value(DURATION) or 0.0)


DURATION = "gpu__time_duration.sum"
