"""How long submodules take: nested, shared, run several times, without any."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from mcts.domain import ModuleTimes
from profilers.kernelbench.shared.clocks import HostClock
from profilers.kernelbench.worker.module_times import module_times


class Wait(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, x: Any, *, scale: Any = None) -> Any:
        time.sleep(self.seconds)
        return x if scale is None else x * scale


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(Wait(0.004), Wait(0.002))
        self.layers = torch.nn.ModuleList([Wait(0.001), Wait(0.001)])
        self.unused = Wait(9)

    def forward(self, x: Any) -> Any:
        x = self.body(x)
        for layer in self.layers:
            x = layer(layer(x), scale=torch.ones(1))
        return x


def timed(model: Any) -> dict[str, Any]:
    return module_times(model, lambda: model(torch.zeros(2, 3)), HostClock())


def test_each_module_that_ran_is_told_with_shapes_and_runs() -> None:
    model = Model()
    found = ModuleTimes.model_validate(timed(model))
    by_path = {one.path: one for one in found.modules}
    assert list(by_path) == ["body", "body.0", "body.1", "layers.0", "layers.1"]
    assert by_path["body"].kind == "Sequential"
    assert (by_path["body"].calls, by_path["layers.1"].calls) == (1, 2)
    assert (by_path["layers.0"].inputs, by_path["layers.0"].output) == ("2x3", "2x3")
    assert by_path["body.0"].us + by_path["body.1"].us <= by_path["body"].us <= found.us
    assert by_path["body.0"].us >= 4000
    assert not model.body._forward_hooks and not model.body._forward_pre_hooks


def test_a_model_without_modules_is_not_called() -> None:
    def call() -> None:
        raise AssertionError("called")

    assert module_times(Wait(0), call, HostClock()) == {"us": 0.0, "modules": []}


def test_hooks_are_taken_off_where_a_call_fails() -> None:
    model = torch.nn.Sequential(Wait(0))
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        model(torch.zeros(1))
        if len(calls) > 3:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        module_times(model, call, HostClock())
    assert not model[0]._forward_hooks


def test_a_module_that_fails_inside_and_is_run_again_is_timed_by_what_ended() -> None:
    class Tries(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.part = Wait(0)

        def forward(self, x: Any) -> Any:
            try:
                self.part(x, scale="no tensor")
            except TypeError:
                return self.part(x)

    (one,) = timed(Tries())["modules"]
    assert one["path"] == "part" and one["calls"] == 1
