"""PyTorch's way to do a bundled task does that task."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from experiments.runs.tasks.files import bundled, find_task
from mcts.domain import KernelTask
from mcts.errors import InputError
from profilers.cuda.drawing import draw, widen

torch: Any = pytest.importorskip("torch")

from experiments.benchmarks.evidence import against_torch  # noqa: E402
from experiments.benchmarks.evidence.against_torch import (  # noqa: E402
    agrees,
    as_tensor,
    fastest_public,
    rival_cells,
)
from experiments.benchmarks.evidence.public_kernels import PUBLIC  # noqa: E402
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


def test_results_agree_up_to_rounding_and_whole_numbers_exactly() -> None:
    x = torch.tensor([100.0, 1.0])
    assert agrees(x.bfloat16() * 1.004, x) and not agrees(x * 1.01, x)
    assert not agrees(x, x[:1])
    whole = torch.tensor([1000, 2], dtype=torch.int32)
    assert agrees(whole, whole.clone()) and not agrees(whole, whole + 1)
    assert agrees(whole, whole.float())


def test_the_fastest_public_kernel_that_is_right_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(*_: object) -> Any:
        raise InputError("no nvcc here")

    def giving(factor: float) -> Any:
        return lambda _, inputs: lambda: factor * inputs[0]

    rivals = {"A": lacking, "B": giving(3.0), "C": giving(2.0), "D": giving(2.0)}
    monkeypatch.setattr(against_torch, "PUBLIC", {"twice": rivals, "thrice": {"A": lacking}})
    times = iter(([5.0], [4.0]))
    monkeypatch.setattr(against_torch, "times_us", lambda *_: next(times))
    x = torch.ones(3)
    assert fastest_public(torch, "twice", [x], 2 * x) == ("D", [4.0])
    said = capsys.readouterr().err
    assert "twice, A: no nvcc here" in said and "twice, B: its result is not PyTorch's" in said
    assert fastest_public(torch, "thrice", [x], x) == ("n/a", [])
    assert fastest_public(torch, "other", [x], x) == ("none known", [])


def test_each_call_is_compiled_for_its_own_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    spied = SimpleNamespace(
        compiler=torch.compiler, compile=partial(torch.compile, backend=counter)
    )
    monkeypatch.setattr(against_torch, "times_us", lambda _, call: [float(call().sum())])

    def of(x: Any) -> Any:
        return lambda: x + 1

    sizes = range(2, 14)  # more than one function is compiled for
    assert [against_torch._compiled_us(spied, of(torch.ones(n))) for n in sizes] == [
        [2.0 * n] for n in sizes
    ]
    assert counter.frame_count == len(sizes)


def test_public_kernels_are_those_of_bundled_tasks() -> None:
    assert set(PUBLIC) <= set(bundled())
