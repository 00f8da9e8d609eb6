"""A plan becomes numbers; a call that no device could launch is refused."""

from __future__ import annotations

import json

import pytest

from mcts.domain import KernelTask, parse_launch_plan
from mcts.errors import InputError
from profilers.compiling.calls import Call, Step
from profilers.compiling.lowering import configuration, lower

PLAN = """/* rooftree
where = "BLOCK * PER <= 4096"
[tunables]
BLOCK = [128, 64, 2048]
PER = [1, 4]
SPLIT = [0, 1]
[[workspace]]
name = "partial"
dtype = "float64"
size = "ceil_div(n, BLOCK) + 1"
[[launch]]
memset = "partial"
when = "SPLIT == 1"
[[launch]]
kernel = "first"
grid = ["ceil_div(n, BLOCK * PER)", 2]
block = ["BLOCK"]
shared = "BLOCK * 4"
args = [
    "x", "partial", "n",
    { value = "n * n", type = "int64" }, { value = "0.5", type = "float32" },
]
[[launch]]
kernel = "second"
grid = [1]
block = [32, "2 if SPLIT == 1 else 1"]
args = ["partial", "y"]
when = "SPLIT == 1"
*/"""


def call(task: KernelTask, source: str = PLAN, **tunables: int) -> Call:
    plan = parse_launch_plan(source)
    candidate = task.baseline.model_copy(update={"source": source, "tunables": tunables})
    return lower(task, plan, configuration(plan, candidate), task.workloads[1])


def test_expressions_become_numbers(scale_task: KernelTask) -> None:
    lowered = call(scale_task)
    assert lowered.workspaces == {"partial": 8 * 9}
    assert lowered.steps == (
        Step(
            kernel="first",
            grid=(8, 2, 1),
            block=(128, 1, 1),
            shared=512,
            args=(
                ("buffer", "x"),
                ("buffer", "partial"),
                ("int32", 1000),
                ("int64", 1000000),
                ("float32", 0.5),
            ),
        ),
    )


def test_when_decides_which_steps_exist(scale_task: KernelTask) -> None:
    lowered = call(scale_task, SPLIT=1)
    assert [step.kernel or f"memset {step.memset}" for step in lowered.steps] == [
        "memset partial",
        "first",
        "second",
    ]
    assert lowered.kernels == ("first", "second")
    assert lowered.steps[2].block == (32, 2, 1)


@pytest.mark.parametrize("tunables", [{}, {"SPLIT": 1}, {"BLOCK": 64, "PER": 4, "SPLIT": 1}])
def test_a_call_survives_its_journey_as_json(
    scale_task: KernelTask, tunables: dict[str, int]
) -> None:
    lowered = call(scale_task, **tunables)
    assert Call.from_json(json.loads(json.dumps(lowered.to_json()))) == lowered


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('block = ["BLOCK"]', 'block = ["BLOCK", 16]', "2048 threads"),
        ('grid = ["ceil_div(n, BLOCK * PER)", 2]', 'grid = ["n - 1000"]', "grid.x is 0"),
        ("2]\nblock", "70000]\nblock", "grid.y is 70000"),
        ('shared = "BLOCK * 4"', 'shared = "-4"', "shared memory"),
        ('"partial", "n",', '"partial", "n * n * n * 10",', "does not fit int32"),
        ('size = "ceil_div(n, BLOCK) + 1"', 'size = "n - 1000"', "0 elements"),
        ('size = "ceil_div(n, BLOCK) + 1"', 'size = "2**62 + 16"', "elements"),
        ('size = "ceil_div(n, BLOCK) + 1"', f"size = {'9' * 300}", r"9\.\.\. elements"),
        ("shared", 'when = "SPLIT == 1"\nshared', "no kernel is launched"),
    ],
)
def test_a_call_that_cannot_be_launched_is_refused(
    scale_task: KernelTask, old: str, new: str, complaint: str
) -> None:
    assert old in PLAN
    with pytest.raises(InputError, match=complaint):
        call(scale_task, PLAN.replace(old, new))


def test_tunables_outside_the_space_are_refused(scale_task: KernelTask) -> None:
    with pytest.raises(InputError, match="out of range"):
        call(scale_task, BLOCK=100)
    with pytest.raises(InputError, match="where"):
        call(scale_task, BLOCK=2048, PER=4)
