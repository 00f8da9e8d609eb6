"""A kernel on its own: what its spec must say, and what its machine code tells without a GPU."""

from __future__ import annotations

import pytest

from mcts.domain import KernelSpec, KernelTask, parse_kernel_spec
from mcts.errors import InputError
from profilers.profiles.inspecting import static_profile

SHEET = """/* rooftree
[shape]
n = 1024
[tunables]
BLOCK = [64, 128]
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "n"
[[launch]]
kernel = "twice"
grid = ["ceil_div(n, BLOCK)"]
block = ["BLOCK"]
args = ["x", "y", "n"]
*/
extern "C" __global__ void twice(const float* x, float* y, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""
PLAN = '[[launch]]\nkernel = "k"\ngrid = [1]\nblock = [32]\n'


def test_a_kernel_spec_holds_a_tasks_work() -> None:
    spec = parse_kernel_spec(SHEET)
    spec.check()
    work = spec.work({"BLOCK": 64})
    assert work is not None and (work.bytes, work.flops) == (8192, 1024)


def test_a_plan_beside_the_source_takes_the_place_of_its_comment() -> None:
    assert parse_kernel_spec("no comment here", plan=PLAN).kernels == ("k",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[shape]\nn = 1024\n", ""), "names unknown 'n'"),
        (('args = ["x", "y", "n"]', 'args = ["x", "z", "n"]'), "unknown buffer 'z'"),
        (("n = 1024", "n = -1"), "empty shape"),
    ],
)
def test_a_kernel_spec_that_cannot_be_run_says_why(change: tuple[str, str], message: str) -> None:
    spec = parse_kernel_spec(SHEET.replace(*change))
    with pytest.raises(InputError, match=message):
        spec.check()


def test_a_plan_without_buffers_says_what_to_add() -> None:
    with pytest.raises(InputError, match=r"--task"):
        parse_kernel_spec("", plan=PLAN).check()


def test_the_line_of_a_mistake_is_the_files_own() -> None:
    with pytest.raises(InputError, match="line 3"):
        parse_kernel_spec("/* rooftree\n[shape]\nn = = 2\n*/")


def test_a_task_lends_a_plan_its_buffers(scale_task: KernelTask) -> None:
    plan = parse_kernel_spec(scale_task.baseline.source)
    spec = KernelSpec.for_task(plan, scale_task)
    spec.check()
    assert [item.name for item in spec.buffer] == ["x", "y"]


@pytest.mark.nvrtc
def test_machine_code_is_read_without_a_gpu() -> None:
    profile = static_profile(SHEET, {"BLOCK": 64})
    (kernel,) = profile.kernels
    assert kernel.name == "twice" and kernel.sass is not None
    assert kernel.sass.global_loads == {"32": 1} and not kernel.metrics
    assert "nothing was run" in profile.missing["ncu"] and "timeline" in profile.missing


@pytest.mark.nvrtc
def test_a_kernel_that_does_not_compile_names_the_line() -> None:
    with pytest.raises(InputError, match="missing_thing"):
        static_profile("__global__ void k() { missing_thing; }", {})
