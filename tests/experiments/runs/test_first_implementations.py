"""Methods are taught by what a change brings to a variant, not by what leaving PyTorch brings."""

from __future__ import annotations

from dataclasses import replace

from experiments.runs.memory.contributions import Origin, contributions_of
from experiments.runs.tasks.files import find_task
from mcts.domain import Candidate, KernelTask, Tolerance, Workload
from mcts.journal.record import Result
from mcts.knowledge.base import Knowledge
from tests.support.deliveries import node
from tests.support.evaluations import measured

MODEL = "class Model: ...\n"


PROBLEM = KernelTask(
    name="product",
    dialect="kernelbench",
    baseline=Candidate(source=MODEL + "ModelNew = Model\n"),
    reference=MODEL,
    workloads=(Workload(name="main", shape={}),),
    tolerance=Tolerance(relative=1e-4, absolute=1e-4),
)


def taught(task: KernelTask) -> list[tuple[int, str, float | None]]:
    """Nodes, methods and gains of a run with a first implementation, one more, and a step."""
    first = Candidate(source="class ModelNew: 1\n", methods=("memory.fused_passes",))
    other = Candidate(source="class ModelNew: 2\n", methods=("memory.async_copy",))
    step = Candidate(
        source="class ModelNew: 3\n", methods=("memory.fused_passes", "memory.vectorized_loads")
    )
    result = Result(
        nodes=(
            node(0, task.baseline, parent=None, speedup=1.0),
            node(1, first, parent=0, speedup=4.0),
            node(2, other, parent=0, speedup=3.0),
            node(3, step, parent=1, speedup=5.0),
        ),
        stop_reason="", evaluations=3, unique=3, failed=0, seconds=1.0, tree_digest="",
    )  # fmt: skip
    origin = Origin(run="r", task=task, gpu="g", proposer="p", knowledge=Knowledge(), signatures={})
    return [(one.node, one.method, one.gain) for one in contributions_of(result, (), origin)]


def test_only_steps_from_a_variant_tell_of_methods() -> None:
    assert taught(PROBLEM) == [
        (3, "memory.fused_passes", 1.25),
        (3, "memory.vectorized_loads", 1.25),
    ]


def test_a_kernel_of_the_task_is_a_variant_as_well() -> None:
    assert {found[0] for found in taught(find_task("row_softmax").task)} == {1, 2, 3}


def test_a_gain_over_an_unsteady_baseline_is_beyond_the_noise_of_own_times() -> None:
    task = find_task("row_softmax").task
    parent = Candidate(source=task.baseline.source, methods=())
    child = Candidate(source=task.baseline.source + "//", methods=("memory.vectorized_loads",))
    unsteady = replace(
        node(0, task.baseline, parent=None, speedup=1.0),
        evaluation=measured(1.0, spread=0.2, name=task.baseline.id),
    )
    nodes = (
        unsteady,
        node(1, parent, parent=0, speedup=4.0),
        node(2, child, parent=1, speedup=4.2),
    )
    origin = Origin(run="r", task=task, gpu="g", proposer="p", knowledge=Knowledge(), signatures={})
    for own_times, outcome in ((True, "improved"), (False, "neutral")):
        result = Result(
            nodes=nodes, stop_reason="", evaluations=2, unique=2, failed=0, seconds=1.0,
            tree_digest="", own_times=own_times,
        )  # fmt: skip
        (found,) = contributions_of(result, (), origin)
        assert found.outcome == outcome
