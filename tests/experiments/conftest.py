"""A small task with a made-up cost model, and runs of the real loop over it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import (
    Buffer,
    Candidate,
    Evaluation,
    Guidance,
    Hardware,
    KernelTask,
    Profile,
    Timing,
    Verification,
    Workload,
    parse_launch_plan,
)
from mcts.errors import NoMoves
from mcts.loop.optimizer import Budget, Optimizer, Result
from mcts.ports import Advisor, Evaluator, Event, Journal, Proposal, ProposalRequest, Proposer

KERNEL = """/* rooftree
[tunables]
BLOCK = { values = [64, 128, 256, 512], default = 64, methods = ["latency.block_size"] }
VEC = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"] }
UNROLL = { values = [1, 2, 4, 8], default = 1, methods = ["compute.loop_unrolling"] }
[[launch]]
kernel = "scale"
grid = ["ceil_div(n, BLOCK)"]
block = ["BLOCK"]
args = ["x", "y", "n"]
*/
extern "C" __global__ void scale(const float* x, float* y, int n) {
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x) y[i] = 2 * x[i];
}
"""


def make_task(name: str = "toy") -> KernelTask:
    plan = parse_launch_plan(KERNEL)
    return KernelTask(
        name=name,
        baseline=Candidate(source=KERNEL, tunables=plan.space.default()),
        reference="def reference(x):\n    return 2 * x\n",
        buffers=(
            Buffer(name="x", role="input", shape=("n",)),
            Buffer(name="y", role="output", shape=("n",)),
        ),
        workloads=(Workload(name="main", shape={"n": 4096}),),
        space=plan.space,
    )


def model_time_us(tunables: Mapping[str, Any]) -> float:
    return (
        100.0 / (1 + 0.3 * tunables["VEC"]) / (1 + 0.1 * tunables["UNROLL"])
        + abs(tunables["BLOCK"] - 256) / 64
    )


class ModelEvaluator(Evaluator):
    """Times by a formula; BLOCK 512 does not compile."""

    name = "model"
    hardware = Hardware(name="Paper GPU")

    def __init__(self, task: KernelTask) -> None:
        self.task = task

    def evaluate(self, candidate: Candidate) -> Evaluation:
        if candidate.tunables["BLOCK"] == 512:
            return Evaluation(
                candidate_id=candidate.id, status="compile_failed", message="too many <registers>"
            )
        time_us = model_time_us(candidate.tunables)
        base_us = model_time_us(self.task.baseline.tunables)
        speedup = base_us / time_us
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=3),
            timing=Timing(
                median_us=time_us,
                low_us=time_us * 0.99,
                high_us=time_us * 1.01,
                baseline_us=base_us,
                speedup=speedup,
                speedup_low=speedup * 0.98,
                speedup_high=speedup * 1.02,
                rounds=20,
                samples_us=(time_us,) * 5,
                baseline_samples_us=(base_us,) * 5,
            ),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"everything": "a formula has no counters"})

    def close(self) -> None:
        return None


class OneStepProposer(Proposer):
    """Moves one tunable to another of its values."""

    name = "one step"
    inline = True

    def propose(self, request: ProposalRequest) -> Proposal:
        rng = random.Random(request.seed)
        tunables = request.task.space.tunables
        moves = [
            (name, value)
            for name, tunable in tunables.items()
            for value in tunable.values
            if value != request.parent.tunables[name]
        ]
        if request.move.ordinal > 20:
            raise NoMoves
        name, value = rng.choice(moves)
        return Proposal(
            candidate=Candidate(
                source=request.parent.source,
                tunables={**request.parent.tunables, name: value},
                methods=tunables[name].methods,
                rationale=f"try {name} = {value} <script>alert(1)</script>",
            )
        )


class SilentAdvisor(Advisor):
    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        return Guidance(notes=("nothing was profiled <b>here</b>",))


class ListJournal(Journal):
    def __init__(self) -> None:
        self.kept: list[Event] = []

    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        self.kept.append(Event(len(self.kept) + 1, kind, payload))
        return self.kept[-1]

    def events(self) -> Iterator[Event]:
        return iter(tuple(self.kept))


def make_run(evaluations: int, *, seed: int = 1) -> tuple[ListJournal, Result]:
    task, journal = make_task(), ListJournal()
    result = Optimizer(
        task=task,
        proposer=OneStepProposer(),
        evaluator=ModelEvaluator(task),
        advisor=SilentAdvisor(),
        journal=journal,
        budget=Budget(evaluations=evaluations),
        seed=seed,
    ).run()
    return journal, result


@pytest.fixture(scope="session")
def finished() -> tuple[ListJournal, Result]:
    """A finished run of 40 trials, with failures and duplicates in it."""
    return make_run(40)


@pytest.fixture(scope="session")
def result(finished: tuple[ListJournal, Result]) -> Result:
    return finished[1]


TASK_TOML = """name = "toy"
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[[workload]]
name = "main"
shape = { n = 4096 }
"""


@pytest.fixture
def toy_folder(tmp_path: Path) -> Path:
    """A task folder with a recording of its whole space, made by the formula."""
    from experiments.runs.tasks.files import load_task
    from profilers.recordings.recorder import record
    from profilers.recordings.t4 import write_recording

    folder = tmp_path / "toy"
    (folder / "recordings").mkdir(parents=True)
    (folder / "task.toml").write_text(TASK_TOML)
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "reference.py").write_text("def reference(x):\n    return 2 * x\n")
    task = load_task(folder)
    recording = record(task, ModelEvaluator(task), parallel=1, profile=False)
    write_recording(folder / "recordings" / "paper.json.gz", recording)
    return folder
