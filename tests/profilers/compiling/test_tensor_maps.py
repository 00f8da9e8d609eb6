"""Tensor maps of a plan: extents and strides, and what no device takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcts.domain import Buffer, KernelTask, Workload, parse_launch_plan
from mcts.errors import InputError
from profilers.compiling.arguments import misfits
from profilers.compiling.calls import Call, Step, TensorMap
from profilers.compiling.lowering import configuration, lower

PLAN = """/* rooftree
[tunables]
ROWS = { values = [64, 512], default = 64 }
SWIZZLE = { values = [0, 128, 100], default = 128 }
[[workspace]]
name = "packed"
dtype = "float16"
size = "rows * cols"
[[launch]]
kernel = "copy"
grid = [1]
block = [128]
args = [
    { tensor_map = "x", box = [1, "ROWS", 64], swizzle = "SWIZZLE" },
    { tensor_map = "packed", shape = ["rows", "cols"], box = ["ROWS", 32] },
    "y", "rows",
]
*/"""


@pytest.fixture
def task(scale_task: KernelTask) -> KernelTask:
    buffers = (
        Buffer(name="x", role="input", dtype="bfloat16", shape=("heads", "rows", "cols")),
        Buffer(name="y", role="output", shape=("rows", "cols")),
    )
    workloads = (Workload(name="main", shape={"heads": 3, "rows": 100, "cols": 136}),)
    return scale_task.model_copy(update={"buffers": buffers, "workloads": workloads})


def call(task: KernelTask, source: str = PLAN, **tunables: int) -> Call:
    plan = parse_launch_plan(source)
    plan.check_names(
        buffers=frozenset(buffer.name for buffer in task.buffers), shape=task.shape_names
    )
    candidate = task.baseline.model_copy(update={"source": source, "tunables": tunables})
    return lower(task, plan, configuration(plan, candidate), task.workloads[0])


def test_a_map_has_the_buffers_shape_or_its_own(task: KernelTask) -> None:
    (first, _), (second, _) = call(task).steps[0].args[:2], call(task).steps[0].args[1:3]
    assert first == (
        "tensor_map",
        TensorMap(
            buffer="x",
            dtype="bfloat16",
            shape=(3, 100, 136),
            strides=(100 * 136 * 2, 136 * 2),
            box=(1, 64, 64),
            swizzle=128,
        ),
    )
    assert second[1].shape == (100, 136) and second[1].strides == (272,)
    assert second[1].dtype == "float16" and second[1].swizzle == 0


@pytest.mark.parametrize(
    ("key", "misspelled"), [("tensor_map", "tensormap"), ("swizzle", "swizle"), ("box", "boxs")]
)
def test_a_misspelled_key_is_answered_with_the_one_that_is_meant(key: str, misspelled: str) -> None:
    with pytest.raises(InputError) as told:
        parse_launch_plan(PLAN.replace(f"{key} = ", f"{misspelled} = ", 1))
    assert f"args 1: {misspelled}: there is no such field; did you mean {key}?" in str(told.value)


def test_it_survives_its_journey_as_json(task: KernelTask) -> None:
    lowered = call(task)
    assert Call.from_json(json.loads(json.dumps(lowered.to_json()))) == lowered


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('[1, "ROWS", 64]', '["ROWS", 64]', "a box of 2 axes, but the shape has 3"),
        ('[1, "ROWS", 64]', '[1, 0, 64]', r"box 1 x 0 x 64 must lie in 1\.\.256"),
        ('[1, "ROWS", 64]', '[1, "ROWS", 20]', "40 bytes wide, which is no multiple of 16"),
        ('[1, "ROWS", 64]', '[1, "ROWS", 128]', "256 bytes wide, more than the 128 of"),
        ('shape = ["rows", "cols"]', 'shape = ["rows", "cols + 1"]', "more elements than the buff"),
        ('shape = ["rows", "cols"]', 'shape = [0, "cols"]', r"0 x 136 must lie in 1\.\.2\*\*32"),
        ('shape = ["rows", "cols"]', 'shape = ["rows", "cols - 1"]', "270 bytes lie between neigh"),
        ('tensor_map = "x"', 'tensor_map = "z"', "unknown buffer 'z'"),
        ('shape = ["rows", "cols"], ', "", "tensor map of workspace 'packed' needs a `shape`"),
        ('box = ["ROWS", 32]', 'box = ["ROVS", 32]', "names unknown 'ROVS'"),
        (', box = ["ROWS", 32]', "", "box"),
    ],
)  # fmt: skip
def test_one_that_no_device_takes_is_refused(
    task: KernelTask, old: str, new: str, complaint: str
) -> None:
    assert old in PLAN
    with pytest.raises(InputError, match=complaint):
        call(task, PLAN.replace(old, new))


@pytest.mark.parametrize(
    ("tunables", "complaint"),
    [({"ROWS": 512}, r"1 x 512 x 64 must lie"), ({"SWIZZLE": 100}, "swizzle is 100")],
)
def test_tunables_are_held_to_it_too(
    task: KernelTask, tunables: dict[str, int], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        call(task, **tunables)


def test_a_kernel_takes_a_map_as_128_bytes(task: KernelTask) -> None:
    step = call(task).steps[0]
    fitting = {"copy": ("b8[128]", "b8[128]", "u64", "u32")}
    assert list(misfits(step, 1, fitting)) == []
    (line,) = misfits(step, 1, {"copy": ("u64", "b8[128]", "u64", "u32")})
    assert "argument 1 is the tensor map of 'x', the kernel takes a pointer" in line
    plain: tuple[tuple[str, Any], ...] = (("buffer", "x"),)
    (line,) = misfits(Step(kernel="copy", args=plain), 1, {"copy": ("b8[128]",)})
    assert "write { tensor_map = BUFFER, box = [...] }" in line
