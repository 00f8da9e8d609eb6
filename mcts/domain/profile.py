"""What the hardware did: counters by their Nsight names, SASS facts, the roofline position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from mcts.domain.base import Noun
from mcts.domain.environment import Hardware
from mcts.domain.metrics import DRAM_READ_BYTES, DRAM_WRITE_BYTES, DURATION
from mcts.domain.modules import ModuleTimes
from mcts.domain.task import Work

BoundClass = Literal["compute", "memory", "latency", "launch", "mixed", "unknown"]
Axis = Literal["compute", "memory", "latency"]
MemoryLevel = Literal["DRAM", "L2", "L1", "shared"]
"""`L1` is the path of global and local accesses through the first-level cache; `shared` the same
data path used by shared memory."""
Limit = Literal["dram", "l2", "l1_shared", "latency", "launch", "compute"]
"""What limits a call, with memory's levels apart."""
_LIMITS: Mapping[str, Limit] = {
    "DRAM": "dram",
    "L2": "l2",
    "L1": "l1_shared",
    "shared": "l1_shared",
    "latency": "latency",
    "launch": "launch",
    "compute": "compute",
    "mixed": "compute",
}
InstructionKind = Literal[
    "fp32",
    "fp64",
    "half",
    "tensor",
    "integer",
    "special",
    "conversion",
    "memory",
    "control",
    "other",
]


class Metric(Noun):
    """One counter's value in `unit` (Nsight base units: %, ns, byte, inst, ...)."""

    value: float = Field(allow_inf_nan=False)
    unit: str = ""


class SassLoop(Noun):
    """A loop of the machine code: a backward branch and what lies between.

    `depth` counts from 1 for an outermost loop. `line` is the source line most of its instructions
    come from, None without line information. `unrolled` is how many copies of the source's body
    one trip holds, 1 if it was not unrolled. `mix` counts its instructions, those of inner
    loops left out.
    """

    depth: int = Field(ge=1)
    instructions: int = Field(ge=1)
    unrolled: int = Field(default=1, ge=1)
    line: int | None = None
    mix: dict[InstructionKind, int] = {}
    global_loads: int = 0
    shared_loads: int = 0
    barriers: int = 0
    wide_fences: int = 0


class SassFacts(Noun):
    """Facts read from a kernel's machine code; instruction counts are static, not executed.

    `global_loads` and `global_stores` count LDG/STG by width in bits ("32", "64", "128", ...).
    `code_hash` covers opcodes and operands with addresses removed: equal hash, equal program.
    `mix` counts all instructions by kind. `lines` says where in the source the instructions behind
    a count stand, by the count's field name ("double_ops", "local_loads", "global_loads.32", ...).
    `opcodes` names each opcode that occurs, with its modifiers ("LDG.E.128"); empty if they were
    not kept. `wgmma_ops` counts the asynchronous ones among `tensor_ops` (HGMMA and its like), and
    `serial_wgmma_ops` those of them that are waited for entirely before the next one is issued.
    `wide_fences` are memory fences of a scope wider than a block's.
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
    wgmma_ops: int = 0
    serial_wgmma_ops: int = 0
    wide_fences: int = 0
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
    integer_ops: int = 0
    half_ops: int = 0
    predicated: int = 0
    mix: dict[InstructionKind, int] = {}
    loops: tuple[SassLoop, ...] = ()
    lines: dict[str, tuple[int, ...]] = {}
    opcodes: tuple[str, ...] = ()
    code_hash: str = ""

    @property
    def hot_loops(self) -> tuple[SassLoop, ...]:
        """The loops where the time most likely goes.

        A loop weighs its own instructions, four times more for each loop around it: trip counts
        are not known. All with at least half the greatest weight are taken, so that a tile loop of
        hundreds of multiply-adds is not hidden by the copy loops inside it. Asynchronous products
        keep tensor cores busy far longer than they take to issue: if there are any, the
        innermost loops that issue them are hot, and no other.
        """
        if self.wgmma_ops and (issuing := [loop for loop in self.loops if loop.mix.get("tensor")]):
            innermost = max(loop.depth for loop in issuing)
            return tuple(loop for loop in issuing if loop.depth == innermost)
        weights = [
            (sum(loop.mix.values()) or loop.instructions) * 4 ** (loop.depth - 1)
            for loop in self.loops
        ]
        return tuple(
            loop
            for loop, weight in zip(self.loops, weights, strict=True)
            if weight >= max(weights) / 2
        )

    @property
    def hot_mix(self) -> dict[InstructionKind, int]:
        """Instructions by kind in the hot loops; in all code if there are no loops."""
        total: dict[InstructionKind, int] = {}
        for loop in self.hot_loops:
            for kind, count in loop.mix.items():
                total[kind] = total.get(kind, 0) + count
        return total or dict(self.mix)


class KernelProfile(Noun):
    """One kernel of the plan: counters by Nsight metric name, and SASS facts if read.

    `launches` is how often it runs per call with this grid and block; the counters are of one.
    `library`: the kernel belongs to a library such as cuBLAS or PyTorch and cannot be edited.
    """

    name: str
    launches: int = Field(default=1, ge=1)
    metrics: dict[str, Metric] = {}
    sass: SassFacts | None = None
    library: bool = False

    def value(self, metric: str) -> float | None:
        """The metric's value, or None if it was not measured."""
        found = self.metrics.get(metric)
        return None if found is None else found.value

    @property
    def is_counted(self) -> bool:
        """Whether more is known of it than how long it took."""
        return any(name != DURATION for name in self.metrics)

    @property
    def total_us(self) -> float | None:
        """Microseconds all its launches took under the profiler, one after the other."""
        duration = self.value(DURATION)
        return None if duration is None else duration * self.launches / 1e3

    @property
    def dram_bytes(self) -> tuple[float, float] | None:
        """Bytes that all its launches read from device memory and wrote there; None if unknown."""
        read, written = self.value(DRAM_READ_BYTES), self.value(DRAM_WRITE_BYTES)
        if read is None or written is None:
            return None
        return read * self.launches, written * self.launches


class AxisGap(Noun):
    """How far from the ceiling, in [0, 1]: 0 at the ceiling, 1 with nothing achieved."""

    compute: float = Field(ge=0, le=1)
    memory: float = Field(ge=0, le=1)
    latency: float = Field(ge=0, le=1)


class TimelineFacts(Noun):
    """What ran when, over one window: `calls` repetitions of a plan, or one run of a program.

    Times are microseconds, totals over the window. `span_us` reaches from the first device
    operation to the end of the last; `busy_us` is the part in which a kernel ran, `overlapped_us`
    the part in which two or more did. `gap_us` is the part in which the device did nothing between
    two operations, the waits before the first launch of each kernel (loading it, setting up) left
    out and kept in `first_use_us`. `median_gap_us` is over consecutive kernels. `launch_api_us` is
    host time in launch calls, `sync_us` in calls that wait for the device. Small copies move less
    than 64 KiB.
    """

    source: Literal["nsys", "cupti"]
    calls: int = Field(default=1, ge=1)
    span_us: float = Field(ge=0)
    busy_us: float = Field(ge=0)
    overlapped_us: float = Field(default=0, ge=0)
    gap_us: float = Field(default=0, ge=0)
    median_gap_us: float | None = Field(default=None, ge=0)
    first_use_us: float = Field(default=0, ge=0)
    kernels: int = Field(default=0, ge=0)
    kernel_names: int = Field(default=0, ge=0)
    median_kernel_us: float | None = Field(default=None, ge=0)
    short_kernels: int = Field(default=0, ge=0)
    """Kernels that ran for less than 10 microseconds."""
    launches: int = Field(default=0, ge=0)
    launch_api_us: float = Field(default=0, ge=0)
    graph_launches: int = Field(default=0, ge=0)
    copies_to_device: int = Field(default=0, ge=0)
    copies_to_host: int = Field(default=0, ge=0)
    copy_us: float = Field(default=0, ge=0)
    copied_bytes: int = Field(default=0, ge=0)
    small_copies: int = Field(default=0, ge=0)
    pageable_copies: int = Field(default=0, ge=0)
    pageable_bytes: int = Field(default=0, ge=0)
    sync_calls: int = Field(default=0, ge=0)
    sync_us: float = Field(default=0, ge=0)
    allocations: int = Field(default=0, ge=0)
    """Calls that allocate or free device memory after the first kernel and before the last."""
    allocation_us: float = Field(default=0, ge=0)
    streams: int = Field(default=0, ge=0)
    """Streams that ran a kernel."""

    @property
    def idle_share(self) -> float | None:
        """Share of the span, first uses left out, in which the device did nothing."""
        span = self.span_us - self.first_use_us
        return None if span <= 0 else min(1.0, self.gap_us / span)


class Roofline(Noun):
    """Where a kernel stands under its roofline.

    `gap` is the distance to each ceiling; `method_budget` shares three method slots over the
    axes, at most two per axis; `near_peak` means all gaps are small and little is left.
    `level` is the memory level that limits, if memory does. `speed_of_light_us` is the floor
    from the task's cost over the measured ceilings; the achieved rates are that cost over the time.

    `beaten_by` is the speed of light over the time where that was clearly beaten, None otherwise:
    the call does less than the task's cost, so that nothing follows from it. Gaps, class and budget
    are then those of the measured utilisation, and intensity and achieved rates are not known.
    """

    bound: BoundClass
    level: MemoryLevel | None = None
    confidence: float = Field(ge=0, le=1)
    gap: AxisGap
    near_peak: bool
    method_budget: dict[Axis, int]
    intensity_flop_per_byte: float | None = None
    ridge_flop_per_byte: float | None = None
    speed_of_light_us: float | None = None
    beaten_by: float | None = None
    achieved_tflop_per_s: float | None = None
    achieved_gb_per_s: float | None = None
    reason: str = ""

    @property
    def limit(self) -> Limit | None:
        """The class, with the level where memory limits; None if neither is known.

        Where compute and memory are both busy, compute: of ten such kernels of `causes` seven are.
        """
        name = self.level if self.bound == "memory" else self.bound
        return _LIMITS.get(name or "")

    @property
    def bounded_by_traffic(self) -> bool:
        """Whether moving the task's inputs and outputs takes longer than its arithmetic."""
        intensity, ridge = self.intensity_flop_per_byte, self.ridge_flop_per_byte
        return intensity is not None and ridge is not None and intensity <= ridge


class ModelStep(Noun):
    """One operation of a problem's model, as PyTorch dispatches it.

    `detail` is the geometry of a convolution or the dimensions of a reduction, `output` the shape
    of its first output, of `elements` elements. `bytes` counts each tensor that is read or written
    once, `flops` those of products, convolutions, attention and recurrent layers. `after` are the
    steps that its inputs come from, by their place; one that is read twice stands there twice.
    """

    name: str
    detail: str = ""
    output: str = ""
    bytes: int = Field(default=0, ge=0)
    flops: int = Field(default=0, ge=0)
    elements: int = Field(default=0, ge=0)
    after: tuple[int, ...] = ()


class Profile(Noun):
    """The kernels of one candidate, in launch order; `missing` says what is not known, and why.

    A quantity that was not measured is absent here and named in `missing`: never zero.
    `hardware` is the device it was measured on, with its ceilings. `work` is the least work of a
    call if the task declares none and the profiler could tell. `steps` are those of the problem's
    model, if there is one; `modules` are the submodules of the candidate at hand, None without any.
    """

    kernels: tuple[KernelProfile, ...] = ()
    timeline: TimelineFacts | None = None
    roofline: Roofline | None = None
    hardware: Hardware | None = None
    work: Work | None = None
    steps: tuple[ModelStep, ...] = ()
    modules: ModuleTimes | None = None
    missing: dict[str, str] = {}

    @property
    def dram_bytes(self) -> float | None:
        """Bytes that a call moves through device memory; None if a kernel does not tell."""
        each = [kernel.dram_bytes for kernel in self.kernels]
        known = [pair for pair in each if pair is not None]
        if not known or len(known) < len(each):
            return None
        return sum(read + written for read, written in known)

    @property
    def dominant(self) -> KernelProfile | None:
        """The kernel that took longest, or the first if durations are unknown."""
        if not self.kernels:
            return None
        return max(self.kernels, key=lambda kernel: kernel.total_us or 0.0)
