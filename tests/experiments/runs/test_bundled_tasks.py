"""The bundled tasks: their spaces are large enough to search, and their references are right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.runs.tasks.files import bundled, find_task
from mcts.domain import KernelTask, LaunchPlan, Scalar, Workload, kernel_macros, parse_launch_plan
from profilers.compiling.compiler import Compiler
from profilers.compiling.lowering import lower
from profilers.cuda.drawing import draw, widen
from profilers.cuda.gate import check_task, smallest
from profilers.cuda.reference import NumpyReference

Array = NDArray[Any]
NAMES = sorted(bundled())
ENUMERATED = [name for name in NAMES if name != "gemm_fp32"]
"""That one takes half a minute, and keeps variants that no device can launch: they are recorded."""
SHARED_BYTES_PER_BLOCK = 227 * 1024
"""The most that sm_90 gives a block."""
FEWEST, MOST = 200, 1000


@cache
def opened(name: str) -> tuple[KernelTask, LaunchPlan, tuple[dict[str, Scalar], ...]]:
    """A task, its plan and its allowed configurations."""
    task = find_task(name).task
    plan = parse_launch_plan(task.baseline.source)
    shape = task.timed_workload.shape
    allowed = tuple(c for c in plan.space.configurations(shape) if task.allows(plan.space, c))
    return task, plan, allowed


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiler]:
    made = Compiler(cache_dir=tmp_path_factory.mktemp("cubins"), processes=1)
    yield made
    made.close()


def test_the_suite_covers_at_least_twelve_computations() -> None:
    assert len(NAMES) >= 12


@pytest.mark.parametrize("name", ENUMERATED)
def test_a_space_is_large_enough_to_search_and_small_enough_to_record(name: str) -> None:
    _, plan, allowed = opened(name)
    assert FEWEST <= len(allowed) <= MOST
    for tunable, choice in plan.tunables.items():
        used = {configuration[tunable] for configuration in allowed}
        assert used == set(choice.values), f"{tunable}: a value that no variant may have"
        assert choice.methods and choice.help, tunable


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_default_has_neighbours_to_start_with(name: str) -> None:
    _, plan, allowed = opened(name)
    default = plan.space.default()
    single = [c for c in allowed if sum(c[key] != default[key] for key in default) == 1]
    assert len(single) >= 2


@pytest.mark.parametrize("name", ENUMERATED)
def test_variants_can_be_launched_on_every_workload(name: str) -> None:
    task, plan, allowed = opened(name)
    for configuration, workload in product(allowed[::17], task.workloads):
        call = lower(task, plan, configuration, workload)
        for step in call.launches:
            assert math.prod(step.block) % 32 == 0
            assert step.shared <= SHARED_BYTES_PER_BLOCK


@pytest.mark.parametrize("name", NAMES)
def test_a_task_fits_a_device_and_is_verified_on_a_shape_of_its_own(name: str) -> None:
    task, _, _ = opened(name)
    assert task.name == name
    assert task.allows(task.space, task.baseline.tunables)
    timed = task.timed_workload
    assert sum(buffer.bytes(timed.shape) for buffer in task.buffers) < 2 * 2**30
    assert any(load.weight == 0 and load.shape != timed.shape for load in task.workloads)
    assert task.cost is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_task_can_be_judged(name: str) -> None:
    task, _, _ = opened(name)
    assert smallest(task).weight == 0
    assert check_task(task, NumpyReference(task)) == ()


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", NAMES)
def test_the_default_compiles_to_the_kernels_of_its_plan(name: str, compiler: Compiler) -> None:
    task, plan, _ = opened(name)
    configuration = plan.space.default()
    compiled = compiler.compile(task.baseline.source, kernel_macros(configuration))
    call = lower(task, plan, configuration, task.timed_workload)
    assert set(call.kernels) <= compiled.kernels
    assert not compiled.log


def slow_gelu(x: Array, bias: Array) -> Array:
    def one(v: float) -> float:
        return 0.5 * v * math.erfc(-v / math.sqrt(2.0))

    return np.array([[one(v) for v in row] for row in x + bias])


def slow_rms_norm(x: Array, weight: Array) -> Array:
    return np.array(
        [row / math.sqrt(sum(v * v for v in row) / len(row) + 1e-5) * weight for row in x]
    )


def slow_sum(x: Array) -> Array:
    return np.array([math.fsum(row) for row in x])


def slow_histogram(x: Array) -> Array:
    counts = np.zeros(256)
    for v in x:
        counts[min(max(math.floor(v * 16) + 128, 0), 255)] += 1
    return counts


def slow_stencil(u: Array) -> Array:
    weights = [-205 / 24, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
    v = np.zeros(tuple(extent - 8 for extent in u.shape))
    for z, y, x in np.ndindex(*v.shape):
        v[z, y, x] = weights[0] * u[z + 4, y + 4, x + 4]
        for d in range(1, 5):
            v[z, y, x] += weights[d] * (
                u[z + 4 - d, y + 4, x + 4] + u[z + 4 + d, y + 4, x + 4]
                + u[z + 4, y + 4 - d, x + 4] + u[z + 4, y + 4 + d, x + 4]
                + u[z + 4, y + 4, x + 4 - d] + u[z + 4, y + 4, x + 4 + d]
            )  # fmt: skip
    return v


def slow_conv2d(x: Array, weight: Array) -> Array:
    n, _, rows, columns = x.shape
    y = np.zeros((n, len(weight), rows - 2, columns - 2))
    for i, k, row, column in np.ndindex(*y.shape):
        y[i, k, row, column] = np.sum(x[i, :, row : row + 3, column : column + 3] * weight[k])
    return y


def slow_prefix_sum(x: Array) -> Array:
    sums, so_far = [], 0
    for v in x:
        so_far += int(v)
        sums.append(so_far)
    return np.array(sums)


def slow_matmul(a: Array, b: Array) -> Array:
    return np.array([[math.fsum(row * column) for column in b.T] for row in a])


def slow_attention(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    o = np.zeros_like(q)
    for head, row in np.ndindex(*q.shape[:2]):
        seen = row + 1 if causal else len(k[head])
        scores = [math.fsum(q[head, row] * key) / q.shape[2] ** 0.5 for key in k[head, :seen]]
        weights = np.exp(np.array(scores))
        o[head, row] = (weights[:, None] * v[head, :seen]).sum(axis=0) / weights.sum()
    return o


def slow_spmv(value: Array, position: Array, length: Array, x: Array) -> Array:
    n, width = value.shape
    y = np.zeros(n)
    for row in range(n):
        for j in range((int(length[row]) + 9) * width // 16):
            column = (row + math.floor(position[row, j] * 4096)) % n
            y[row] += value[row, j] * x[column]
    return y


SLOW: dict[str, tuple[Callable[..., Array], dict[str, int]]] = {
    "gelu": (slow_gelu, {"rows": 5, "cols": 9}),
    "rms_norm": (slow_rms_norm, {"rows": 5, "cols": 9}),
    "sum_reduction": (slow_sum, {"rows": 3, "cols": 50}),
    "histogram": (slow_histogram, {"n": 500}),
    "stencil3d": (slow_stencil, {"nx": 4, "ny": 3, "nz": 2}),
    "conv2d": (slow_conv2d, {"n": 2, "c": 3, "k": 4, "h": 3, "w": 5}),
    "prefix_sum": (slow_prefix_sum, {"n": 70}),
    "gemm_bf16": (slow_matmul, {"m": 4, "n": 5, "k": 6}),
    "conv2d_tf32": (slow_conv2d, {"n": 2, "c": 3, "k": 4, "h": 3, "w": 5}),
    "attention": (slow_attention, {"heads": 2, "seq": 7}),
    "attention_causal": (partial(slow_attention, causal=True), {"heads": 2, "seq": 7}),
    "spmv": (slow_spmv, {"n": 40, "width": 16}),
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_reference_agrees_with_the_definition_written_out(name: str) -> None:
    task, _, _ = opened(name)
    slow, shape = SLOW[name]
    generator = np.random.default_rng(3)
    inputs = {
        buffer.name: widen(draw(buffer, shape, generator), buffer.dtype) for buffer in task.inputs
    }
    workload = Workload(name="tiny", shape=shape)
    (found,) = NumpyReference(task)(inputs, workload).values()
    np.testing.assert_allclose(found, slow(**inputs), rtol=1e-12, atol=1e-12)
