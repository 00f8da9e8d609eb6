"""A task is refused if a constant would pass for its result."""

from __future__ import annotations

import pytest

from mcts.domain import Buffer, KernelTask, Tolerance, Workload
from mcts.errors import InputError, UnfairTask
from profilers.cuda.gate import check_task, smallest
from profilers.cuda.reference import NumpyReference


def made(source: str, *, names: tuple[str, ...] = ("x",), task: KernelTask) -> KernelTask:
    buffers = [Buffer(name=name, role="input", shape=("n",)) for name in names]
    output = Buffer(name="y", role="output", shape=("n",))
    return task.model_copy(
        update={
            "reference": f"import numpy as np\n{source}",
            "buffers": (*buffers, output),
            "workloads": (Workload(name="main", shape={"n": 64}),),
            "tolerance": Tolerance(relative=1e-3, absolute=1e-3),
        }
    )


def marks(task: KernelTask, *, ungated: bool = False) -> tuple[str, ...]:
    return check_task(task, NumpyReference(task), ungated=ungated)


def test_a_sound_task_has_no_marks(scale_task: KernelTask) -> None:
    assert marks(scale_task) == ()
    two = made("def reference(x, z):\n    return x + z\n", names=("x", "z"), task=scale_task)
    assert marks(two) == ()


@pytest.mark.parametrize(
    "source",
    [
        "def reference(x):\n    return np.zeros_like(x)\n",
        "def reference(x):\n    return 1e-5 * x\n",
        "def reference(x):\n    return x / x + 1e-9 * x\n",
    ],
)
def test_a_constant_output_is_refused_or_marked(source: str, scale_task: KernelTask) -> None:
    task = made(source, task=scale_task)
    with pytest.raises(InputError, match="do not depend on its inputs"):
        marks(task)
    assert "do not depend" in marks(task, ungated=True)[0]


def test_an_input_without_effect_is_marked(scale_task: KernelTask) -> None:
    source = "def reference(x, z):\n    return x + 1e-6 * z\n"
    task = made(source, names=("x", "z"), task=scale_task)
    assert marks(task) == ("no output depends on input z",)


def test_a_reference_that_rolls_dice_is_refused(scale_task: KernelTask) -> None:
    task = made("def reference(x):\n    return x + np.random.rand(len(x))\n", task=scale_task)
    with pytest.raises(InputError, match="two results"):
        marks(task)
    assert any("two results" in mark for mark in marks(task, ungated=True))


def test_a_reference_that_gives_nan_is_refused(scale_task: KernelTask) -> None:
    task = made("def reference(x):\n    return np.where(x > 0, x, np.nan)\n", task=scale_task)
    with pytest.raises(UnfairTask, match="gives NaN for output y, which nothing can equal"):
        marks(task)


def test_the_smallest_workload_is_asked(scale_task: KernelTask) -> None:
    assert smallest(scale_task).name == "small"


def test_more_outputs_than_can_be_compared_are_refused(scale_task: KernelTask) -> None:
    from profilers.cuda.evaluator import GpuEvaluator

    outputs = [Buffer(name=f"y{i}", role="output", shape=("n",)) for i in range(1001)]
    task = scale_task.model_copy(update={"buffers": (scale_task.buffers[0], *outputs)})
    with pytest.raises(InputError, match="1001 outputs"):
        GpuEvaluator(task)
