"""Deadlines of the GPU phase cover the work they are for; failures are blamed on their cause."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from mcts.domain import KernelTask, Workload
from mcts.errors import WorldError
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Built, Failed
from profilers.compiling.calls import Call
from profilers.compiling.compiler import Compiled
from profilers.cuda.judging import Judge
from profilers.cuda.settings import GpuSettings
from profilers.launching.gpu_worker import GpuWorker

LOST = ChildGone("killed by SIGKILL", hung=False, output="")
HUNG = ChildGone("no answer", hung=True, output="")


class FakeWorker:
    """A worker that answers well, except that it does what `failures` say, once each.

    `failures` has operations with what is raised at each further one; a batch takes `call_us` a
    call by the events, and longer by the worker's clock in the first `strange` tries.
    """

    def __init__(self) -> None:
        self.us = 10.0
        self.failures: list[tuple[str, Exception]] = []
        self.working: str | None = None
        self.strange = 0
        self.asked: list[str] = []
        self.timeouts_s: dict[str, list[float]] = {}
        self.probes = self.replaced = 0
        self.damaged: list[str] = []

    def ready(self) -> None:
        pass

    def replace(self) -> None:
        self.replaced += 1

    def probe(self) -> str | None:
        self.probes += 1
        return self.working

    def ask(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        op = message["op"]
        self.asked.append(op)
        self.timeouts_s.setdefault(op, []).append(timeout_s)
        if self.failures and self.failures[0][0] == op:
            raise self.failures.pop(0)[1]
        return getattr(self, op)(message)  # type: ignore[no-any-return]

    def load(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"resources": {}}

    def verify(self, _: Mapping[str, Any]) -> dict[str, Any]:
        output = {
            "name": "y", "dtype": "float32", "expected_dtype": "float64", "elements": 64,
            "mismatches": 0, "max_error": 0.0, "worst_ratio": 0.0,
            "square_error": [0.0] * 64, "square_expected": [1.0] * 64,
        }  # fmt: skip
        run = {"outputs": [output], "honest": [output], "us": self.us, "workload": "main"}
        return {"cases": [run], "damaged": []}

    def time(self, _: Mapping[str, Any]) -> dict[str, Any]:
        block = {"baseline_us": [self.us] * 4, "candidate_us": [self.us] * 4}
        return {"shapes": {"main": {"blocks": [block] * 6, "outputs": []}}, "damaged": []}

    def batch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        calls = message["calls"]
        factor = 1.0
        if self.strange > 0 and calls > 1:
            self.strange -= 1
            factor = random.uniform(3, 4)
        return {"calls": calls, "event_us": calls * self.us, "host_us": calls * self.us * factor}

    def guard(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"damaged": self.damaged}


class TimelessJudge(Judge):
    """Its own clock is that of the events: a stand-in's calls take no time."""

    def _batch(self, workload: Workload, calls: int, deadline_s: float) -> Any:
        from dataclasses import replace

        found = super()._batch(workload, calls, deadline_s)
        return replace(found, outside_us=found.event_us)


@pytest.fixture
def worker() -> FakeWorker:
    return FakeWorker()


@pytest.fixture
def judge(scale_task: KernelTask, worker: FakeWorker) -> Judge:
    return TimelessJudge(scale_task, cast(GpuWorker, worker), GpuSettings(), floors_us={})


@pytest.fixture
def built(scale_task: KernelTask) -> Built:
    compiled = Compiled(Path("a.cubin"), "0", frozenset(), "", 0.0, False)
    call = Call(steps=())
    return Built(scale_task.baseline, compiled, {load.name: call for load in scale_task.workloads})


def test_a_fast_candidate_gets_the_time_that_its_slow_baseline_takes(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    for us in (3e6, 10.0):  # the baseline is judged first
        worker.us = us
        worker.failures = [("time", HUNG)]
        with pytest.raises(Failed) as caught:
            judge.judge(built, [])
        assert caught.value.status == "timed_out"
    baseline_s, candidate_s = worker.timeouts_s["time"]
    assert candidate_s >= baseline_s > 2 * GpuSettings().min_blocks * 3.0
    assert worker.timeouts_s["verify"][1] > 3.0 * 3, "a fresh worker runs the baseline as well"


def test_a_good_candidate_is_measured(judge: Judge, worker: FakeWorker, built: Built) -> None:
    found = judge.judge(built, [])
    assert found.measured and worker.probes == 0
    assert worker.asked[:3] == ["load", "verify", "time"] and worker.asked[-1] == "guard"
    assert worker.asked.count("batch") >= 4


def test_the_judge_tells_its_stages_again_when_it_starts_over(
    scale_task: KernelTask, worker: FakeWorker, built: Built
) -> None:
    told: list[tuple[str, str]] = []
    judge = TimelessJudge(
        scale_task, cast(GpuWorker, worker), GpuSettings(), floors_us={},
        on_stage=lambda candidate_id, stage: told.append((candidate_id, stage)),
    )  # fmt: skip
    judge.judge(built, [])
    once = [(built.candidate.id, "verifying"), (built.candidate.id, "timing")]
    assert told == once
    worker.failures = [("time", LOST)]
    judge.judge(built, [])
    assert told == once * 3


@pytest.mark.parametrize("op", ["load", "verify", "time", "batch", "guard"])
def test_a_candidate_whose_worker_was_killed_once_is_tried_again(
    op: str, judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [(op, LOST)]
    assert judge.judge(built, []).measured
    assert worker.probes == 1 and worker.asked.count("load") == 2


def test_a_worker_that_dies_twice_is_the_candidates_fault(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [("time", LOST), ("time", LOST)]
    with pytest.raises(Failed, match="died twice while being timed") as caught:
        judge.judge(built, [])
    assert caught.value.status == "runtime_error" and worker.probes == 2


@pytest.mark.parametrize(
    "failure",
    [LOST, HUNG, RequestRefused("cuda", "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable (in sync)"),
     RequestRefused("cuda", "CUDA_ERROR_SYSTEM_NOT_READY: not ready (in cuInit)"),
     RequestRefused("cuda", "CUDA_ERROR_LAUNCH_FAILED: unspecified (in cuStreamSynchronize)")],
)  # fmt: skip
def test_no_candidate_is_blamed_for_a_lost_gpu(
    failure: Exception, judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [("time", failure)]
    worker.working = "killed by SIGABRT"
    with pytest.raises(WorldError, match="GPU does not answer: killed by SIGABRT"):
        judge.judge(built, [])


def test_an_error_of_the_board_is_retried_once(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    failure = RequestRefused("cuda", "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable (in sync)")
    worker.failures = [("verify", failure)]
    assert judge.judge(built, []).measured
    worker.failures = [("verify", failure), ("verify", failure)]
    with pytest.raises(Failed, match="ECC"):
        judge.judge(built, [])


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal access (in sync)", "check its indices"),
        ("CUDA_ERROR_OUT_OF_MEMORY: out of memory (in cuModuleLoadData)", "larger than the device"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS: misaligned (in sync)", "multiple"),
    ],
)
def test_a_fault_of_the_kernel_is_its_own_at_once(
    message: str, hint: str, judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [("verify", RequestRefused("cuda", message))]
    with pytest.raises(Failed, match=hint) as caught:
        judge.judge(built, [])
    assert caught.value.status == "runtime_error"
    assert worker.probes == 0 and worker.asked == ["load", "verify"]


def test_an_endless_kernel_is_blamed_once_the_gpu_is_known_to_work(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [("verify", HUNG)]
    with pytest.raises(Failed, match="endless loop") as caught:
        judge.judge(built, [])
    assert caught.value.status == "timed_out"
    assert worker.probes == 1 and worker.asked.count("load") == 1


def test_an_internal_error_of_the_worker_is_a_world_error(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.failures = [("verify", RequestRefused("internal", "KeyError: 'x'"))]
    with pytest.raises(WorldError, match="KeyError"):
        judge.judge(built, [])


def test_a_pause_of_the_host_is_no_disagreement(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.strange = 4  # one series of batches
    assert judge.judge(built, []).measured


def test_clocks_that_never_agree_are_suspect_also_in_a_fresh_worker(
    judge: Judge, worker: FakeWorker, built: Built
) -> None:
    worker.strange = 10_000
    found = judge.judge(built, [])
    assert found.status == "suspect" and "clock" in found.message
    assert worker.replaced == 1 and worker.asked.count("time") == 2


def test_damage_done_in_a_batch_is_found(judge: Judge, worker: FakeWorker, built: Built) -> None:
    worker.damaged = ["memory beyond y of case 1"]
    with pytest.raises(Failed, match="while being timed: memory beyond y of case 1") as caught:
        judge.judge(built, [])
    assert caught.value.status == "wrong_result" and worker.replaced == 1
