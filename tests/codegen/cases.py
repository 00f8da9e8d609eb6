"""Small tasks and requests that the proposers' tests share."""

from __future__ import annotations

import random
from typing import Any

from mcts.domain import (
    Buffer,
    Candidate,
    Evaluation,
    Guidance,
    KernelTask,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    Workload,
)
from mcts.ports import ProposalRequest
from mcts.trial import Move

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
    timing = Timing(
        median_us=50.0, low_us=49.0, high_us=51.0, baseline_us=100.0,
        speedup=2.0, speedup_low=1.9, speedup_high=2.1, rounds=20,
    )  # fmt: skip
    return Evaluation(
        candidate_id=candidate.id,
        status="measured",
        verification=Verification(passed=True, rounds=3),
        timing=timing,
    )


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
