"""A small task with a made-up cost model, and runs of the real loop over it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.machines.machine import gpu_problem, has_module
from experiments.runs.tasks.files import load_task
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
from mcts.loop.progress import Progress
from mcts.ports import Advisor, Evaluator, Event, Journal, Proposal, ProposalRequest, Proposer
from profilers.recordings.recorder import record
from profilers.recordings.t4 import write_recording

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
REFERENCE = "def reference(x):\n    return 2 * x\n"


def make_task(name: str = "toy") -> KernelTask:
    plan = parse_launch_plan(KERNEL)
    return KernelTask(
        name=name,
        baseline=Candidate(source=KERNEL, tunables=plan.space.default()),
        reference=REFERENCE,
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


def make_optimizer(journal: Journal, *, evaluations: int, **parts: Any) -> Optimizer:
    """A search of the small task that is judged by the formula; `parts` replace its own."""
    task = make_task()
    usual = {"proposer": OneStepProposer(), "evaluator": ModelEvaluator(task),
             "advisor": SilentAdvisor(), "seed": 1}  # fmt: skip
    budget = Budget(evaluations=evaluations)
    return Optimizer(task=task, journal=journal, budget=budget, **{**usual, **parts})


def make_progress(last: str = "node 2", **changes: object) -> Progress:
    """What a display hears in the middle of a search."""
    facts: dict[str, object] = {
        "evaluations": 20, "budget": 20, "unique": 20, "failed": 0, "in_flight": 0, "nodes": 21,
        "baseline_us": 100.0, "best_us": 50.0, "best_speedup": 2.0, "elapsed_s": 9.0,
        "last": last, "replaying": False,
    }  # fmt: skip
    return Progress(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def finished() -> tuple[ListJournal, Result]:
    """A finished run of 40 trials, with failures and duplicates in it."""
    journal = ListJournal()
    return journal, make_optimizer(journal, evaluations=40).run()


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


def write_task(
    folder: Path, toml: str, judge: Callable[[KernelTask], Evaluator] = ModelEvaluator
) -> Path:
    """A task folder with the kernel above, and with what `judge` says of its whole space."""
    (folder / "recordings").mkdir(parents=True)
    (folder / "task.toml").write_text(toml)
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "reference.py").write_text(REFERENCE)
    task = load_task(folder)
    recording = record(task, judge(task), parallel=1, profile=False)
    write_recording(folder / "recordings" / "paper.json.gz", recording)
    return folder


@pytest.fixture
def toy_folder(tmp_path: Path) -> Path:
    """A task folder with a recording made by the formula."""
    return write_task(tmp_path / "toy", TASK_TOML)


@cache
def gpu_is_missing() -> str | None:
    return gpu_problem()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what is marked `nvrtc` or `gpu` if the machine lacks the compiler or the device."""
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        if item.get_closest_marker("nvrtc") and not has_module("cuda.bindings.nvrtc"):
            item.add_marker(pytest.mark.skip(reason="needs the extra [cuda]"))
        if item.get_closest_marker("gpu") and (problem := gpu_is_missing()):
            item.add_marker(pytest.mark.skip(reason=problem))
