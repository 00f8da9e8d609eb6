"""Small tasks and requests that the proposers' tests share."""

from __future__ import annotations

import random
from typing import Any

from mcts.domain import (
    AxisGap,
    Buffer,
    Build,
    Candidate,
    Ceilings,
    Evaluation,
    Evidence,
    Finding,
    Guidance,
    Hardware,
    KernelProfile,
    KernelTask,
    Lesson,
    Metric,
    Policy,
    Profile,
    Refusal,
    Roofline,
    SassFacts,
    StateSignature,
    Timing,
    Tolerance,
    Tunable,
    TunableSpace,
    Verification,
    Workload,
)
from mcts.ports import Attempt, ProposalRequest
from mcts.search.trial import Move

SCALE = """/* rooftree
where = ["n % VEC == 0", "BLOCK * ITEMS <= 2048"]
[tunables]
BLOCK = { values = [64, 128, 256, 512], default = 64, methods = ["latency.block_size"] }
VEC = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"] }
ITEMS = { values = [1, 4, 8], default = 1, methods = ["latency.work_per_thread"] }
HINT = { values = [0, 1], default = 0, methods = ["memory.cache_hints"] }
[[launch]]
kernel = "scale"
grid = ["ceil_div(n, BLOCK * ITEMS)"]
block = ["BLOCK"]
args = ["x", "y", "n"]
*/
extern "C" __global__ void __launch_bounds__((BLOCK))
scale(const float* __restrict__ x, float* __restrict__ y, int n)
{
    for (int k = 0; k < ITEMS; ++k) {
        const int i = (blockIdx.x * ITEMS + k) * BLOCK + threadIdx.x;
        if (i < n) y[i] = 2.0f * x[i];
    }
}
"""
FASTER = SCALE.replace("2.0f * x[i]", "x[i] + x[i]")
GOOD = (
    "## Analysis\n\nIt waits.\n\n## Plan\n\nAdd: memory.vectorized_loads\n\n## Code\n\n"
    f"```cuda\n{FASTER}\n```\n"
)
"""A reply that holds a faster variant of SCALE."""
DEFAULTS: dict[str, int] = {"BLOCK": 64, "VEC": 1, "ITEMS": 1, "HINT": 0}


def scale_task() -> KernelTask:
    return KernelTask(
        name="scale",
        summary="y = 2 x",
        baseline=Candidate(source=SCALE, tunables=dict(DEFAULTS)),
        reference="def reference(x):\n    return 2 * x\n",
        buffers=(
            Buffer(name="x", role="input", shape=("n",)),
            Buffer(name="y", role="output", shape=("n",)),
        ),
        workloads=(
            Workload(name="main", shape={"n": 1 << 20}),
            Workload(name="odd", shape={"n": 1002}, weight=0.0),
        ),
    )


def space_task(*, tunables: int = 3, values: int = 4, rows: int = 0) -> KernelTask:
    """A task without source; with `rows`, only so many random combinations exist."""
    names = [f"T{at}" for at in range(tunables)]
    rng = random.Random(1)
    kept: set[tuple[int, ...]] = {(0,) * tunables} if rows else set()
    while len(kept) < rows:
        kept.add(tuple(rng.randrange(values) for _ in names))
    space = TunableSpace(
        tunables={name: Tunable(values=tuple(range(values)), default=0) for name in names},
        rows=tuple(sorted(kept)),
    )
    return KernelTask(
        name="space",
        dialect="space",
        baseline=Candidate(tunables=space.default()),
        workloads=(Workload(name="main", shape={}),),
        space=space,
    )


def measured(candidate: Candidate) -> Evaluation:
    """A measured evaluation of twice the baseline's speed, whose precision was not measured."""
    verification = Verification(passed=True, rounds=3)
    return timed(candidate, 50.0).model_copy(update={"verification": verification})


def ask(task: KernelTask | None = None, **changes: Any) -> ProposalRequest:
    task = task or scale_task()
    parent = changes.pop("parent", task.baseline)
    values: dict[str, Any] = {
        "evaluation": measured(parent),
        "guidance": Guidance(),
        "move": Move("improve", 0),
        **changes,
    }
    return ProposalRequest(task=task, parent=parent, **values)


PROBLEM = '''"""Scaled exponential of a product."""

import torch
from torch import nn


class Model(nn.Module):
    """A linear layer, its exponential, scaled."""

    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        return torch.exp(self.linear(x)) * self.scale


def get_inputs():
    return [torch.rand(128, 512)]


def get_init_inputs():
    return [512, 1024, 0.5]
'''
MODEL_NEW = '''import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512

CUDA = r"""
extern "C" __global__ void exp_scaled(const float* in, const float* bias, float* out, int count,
                                      int columns, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = expf(in[i] + bias[i % columns]) * scale;
}
"""

kernels = compile_cuda(CUDA)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        product = x @ self.linear.weight.t()
        out = torch.empty_like(product)
        count = out.numel()
        grid = (count + BLOCK - 1) // BLOCK
        kernels.exp_scaled[grid, BLOCK](
            product, self.linear.bias, out, count, out.shape[-1], float(self.scale)
        )
        return out
'''


def problem_task(**policy: Any) -> KernelTask:
    """A KernelBench problem as a task."""
    return KernelTask(
        name="scaled_exp",
        dialect="kernelbench",
        summary="A linear layer, its exponential, scaled.",
        baseline=Candidate(source=f"{PROBLEM}\n\nModelNew = Model\n"),
        reference=PROBLEM,
        workloads=(Workload(name="main", shape={}),),
        tolerance=Tolerance(relative=1e-4, absolute=1e-4),
        policy=Policy(**policy),
    )


GPU = Hardware(
    name="NVIDIA H200",
    compute_capability="9.0",
    multiprocessors=132,
    l2_bytes=50 * 2**20,
    ceilings=Ceilings(copy_gb_per_s=4020, fp32_tflop_per_s=58.9, launch_us=2.1),
)
GUIDANCE = Guidance(
    roofline=Roofline(
        bound="memory",
        level="DRAM",
        confidence=0.9,
        gap=AxisGap(compute=0.92, memory=0.57, latency=0.61),
        near_peak=False,
        method_budget={"compute": 0, "memory": 2, "latency": 1},
        speed_of_light_us=20.0,
        achieved_gb_per_s=1730.0,
        reason="Both votes say memory.",
    ),
    findings=(
        Finding(
            tool="narrow_access",
            axis="memory",
            kernel="scale",
            lines=(18,),
            strength=0.8,
            evidence=(Evidence(metric="bits per load", value=32, threshold=64),),
            advice="Loads are 32 bits wide: read four floats at a time.",
            methods=("memory.vectorized_loads",),
            expected_gain=1.3,
        ),
    ),
    notes=("DRAM bytes could not be read",),
)
PROFILE = Profile(
    kernels=(
        KernelProfile(
            name="scale",
            metrics={
                "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": Metric(
                    value=43.1, unit="%"
                ),
                "gpu__time_duration.sum": Metric(value=49000, unit="ns"),
            },
            sass=SassFacts(instructions=64, registers=18, global_loads={"32": 1}),
        ),
    ),
    missing={"timeline": "nsys is not installed"},
)
LESSONS = (
    Lesson(state=StateSignature(), method="memory.cache_hints", outcome="improved", gain=1.25),
    Lesson(
        state=StateSignature(), method="latency.launch_bounds", outcome="failed", realised=False
    ),
)
COMPILE_LOG = """candidate.cu(19): error: identifier "quad" is undefined
          if (i < n) y[i] = quad * x[i];
                            ^

candidate.cu(20): warning #177-D: variable "unused" was declared but never referenced

1 error detected in the compilation of "/tmp/somewhere/candidate.cu".
"""


def timed(candidate: Candidate, median_us: float, *, baseline_us: float = 100.0) -> Evaluation:
    """A measured evaluation of this time."""
    speedup = baseline_us / median_us
    timing = Timing(
        median_us=median_us, low_us=median_us * 0.99, high_us=median_us * 1.01,
        baseline_us=baseline_us, speedup=speedup, speedup_low=speedup * 0.98,
        speedup_high=speedup * 1.02, rounds=20,
    )  # fmt: skip
    return Evaluation(
        candidate_id=candidate.id,
        status="measured",
        verification=Verification(passed=True, rounds=3, worst_ratio=0.02, error_ratio=1.4),
        timing=timing,
    )


def failed(status: str, **parts: Any) -> Evaluation:
    """A failing evaluation, with what its status needs."""
    known: dict[str, dict[str, Any]] = {
        "compile_failed": {"message": "1 error", "build": Build(log=COMPILE_LOG)},
        "wrong_result": {
            "message": "wrong",
            "verification": Verification(
                passed=False, rounds=2, max_error=0.75, worst_ratio=3.1e4,
                detail="odd: 2 of 1002 elements of y wrong; first at [1000]: got 0, expected 1.5",
            ),
        },
        "runtime_error": {"message": "while verifying: an illegal memory access (CUDA error 700)"},
        "timed_out": {"message": "did not finish within 30 s"},
        "refused": {
            "message": "refused",
            "refusal": Refusal(cheat="content_cache", evidence="right for other inputs"),
        },
    }  # fmt: skip
    return Evaluation(candidate_id="candidate-0", status=status, **{**known[status], **parts})


def full_request(
    task: KernelTask, parent: Candidate, move: Move, **changes: Any
) -> ProposalRequest:
    """A request in which every section of a prompt has something to say."""
    python = task.dialect == "kernelbench"
    base = MODEL_NEW if python else SCALE
    other = Candidate(
        source=base.replace("= i", "= 1 * i") if task.dialect != "space" else "",
        tunables=task.space.default() if task.dialect == "space" else dict(parent.tunables),
        methods=("memory.register_reuse",),
        rationale="Keeps the row in registers",
    )
    if task.dialect == "space":
        other = other.model_copy(update={"tunables": {**other.tunables, "T2": 1}})
    slower = Candidate(
        source=other.source + "// slower\n" if other.source else "",
        tunables={**other.tunables, **({"T2": 3} if not other.source else {})},
    )
    values: dict[str, Any] = {
        "evaluation": timed(parent, 50.0),
        "guidance": GUIDANCE,
        "lessons": LESSONS,
        "siblings": (
            Attempt(candidate=other, evaluation=timed(other, 60.0)),
            Attempt(candidate=slower, evaluation=failed("wrong_result")),
            Attempt(reason="the reply holds no CUDA code"),
        ),
        "exemplars": (
            Attempt(candidate=slower, evaluation=timed(slower, 80.0)),
            Attempt(candidate=other, evaluation=timed(other, 40.0)),
        ),
        "profile": PROFILE,
        **changes,
    }
    return ProposalRequest(task=task, parent=parent, move=move, **values)
