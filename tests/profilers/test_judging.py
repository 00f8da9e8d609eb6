"""Deadlines of the GPU phase cover the work they are for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from mcts.domain import KernelTask
from profilers.bench import Bench
from profilers.building import Built, Failed
from profilers.calls import Call
from profilers.compiler import Compiled
from profilers.judging import Judge
from profilers.processes import ChildGone
from profilers.settings import GpuSettings


class SlowBench:
    """A worker whose calls take `us`, and that is lost when it is to time them."""

    def __init__(self) -> None:
        self.us = 0.0
        self.timeouts_s: list[float] = []

    def ready(self) -> None:
        pass

    def ask(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        if message["op"] == "time":
            self.timeouts_s.append(timeout_s)
            raise ChildGone("no answer", hung=True, output="")
        output = {"name": "y", "mismatches": 0, "max_error": 0.0, "worst_ratio": 0.0}
        return {"resources": {}, "cases": [{"outputs": [output], "us": self.us}], "damaged": []}


def test_a_fast_candidate_gets_the_time_that_its_slow_baseline_takes(
    scale_task: KernelTask,
) -> None:
    bench = SlowBench()
    judge = Judge(scale_task, cast(Bench, bench), GpuSettings(), floor_us=0.0)
    compiled = Compiled(Path("a.cubin"), "0", frozenset(), "", 0.0, False)
    call = Call(steps=())
    built = Built(scale_task.baseline, compiled, {load.name: call for load in scale_task.workloads})
    for us in (3e6, 10.0):  # the baseline is judged first
        bench.us = us
        with pytest.raises(Failed) as caught:
            judge.judge(built, [])
        assert caught.value.status == "timed_out"
    baseline_s, candidate_s = bench.timeouts_s
    assert candidate_s >= baseline_s > 2 * GpuSettings().min_rounds * 3.0
