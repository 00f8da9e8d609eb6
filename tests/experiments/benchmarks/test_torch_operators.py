"""PyTorch's way to do a bundled task does that task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.runs.tasks.files import bundled, find_task
from mcts.domain import KernelTask
from profilers.cuda.drawing import draw, widen

torch: Any = pytest.importorskip("torch")

from experiments.benchmarks.evidence.against_torch import as_tensor, rival_cells  # noqa: E402
from experiments.benchmarks.evidence.torch_operators import CALLED, operators  # noqa: E402


def reference_of(task: KernelTask) -> Any:
    names: dict[str, Any] = {}
    exec(task.reference or "", names)
    return names["reference"]


@pytest.mark.parametrize("name", sorted(bundled()))
def test_the_operator_does_what_the_reference_says(name: str) -> None:
    task = find_task(name).task
    small = next(load for load in task.workloads if load.weight == 0)
    generator = np.random.default_rng(5)
    stored = [draw(buffer, small.shape, generator) for buffer in task.inputs]
    tensors = [
        as_tensor(torch, array, buffer.dtype, device="cpu")
        for array, buffer in zip(stored, task.inputs, strict=True)
    ]
    found = operators(torch)[name](tensors)()
    wide = [widen(a, buffer.dtype) for a, buffer in zip(stored, task.inputs, strict=True)]
    expected = reference_of(task)(*wide)
    assert tuple(found.shape) == np.shape(expected)
    limit = task.tolerance
    assert np.allclose(
        found.double().numpy(), expected, rtol=max(limit.relative, 1e-2 if "bf" in name else 0),
        atol=max(4 * limit.absolute, 3e-2 if name in ("gemm_bf16", "rms_norm") else 0),
    )  # fmt: skip


def test_every_bundled_task_has_one() -> None:
    assert set(operators(torch)) == set(bundled()) == set(CALLED)


def test_a_ratio_is_shown_with_its_interval() -> None:
    assert rival_cells([30.0] * 5, [10.0, 10.0, 11.0]) == ("30.0", "3.00 (2.73 to 3.00)")
    assert rival_cells([], [10.0]) == ("n/a", "n/a")
