"""The GPU phase: load, verify and time; any failure becomes the candidate's evaluation."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mcts.domain import Evaluation, KernelTask, Timing, Workload
from mcts.errors import WorldError
from mcts.ports import StageObserver
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Built, Failed
from profilers.cuda.cases import CaseFiles
from profilers.cuda.failures import may_be_world_fault, needs_gpu_probe
from profilers.cuda.findings import Findings, Timed
from profilers.cuda.settings import GpuSettings
from profilers.cuda.timing import Measured, timing_of, why_suspect
from profilers.launching.gpu_worker import GpuWorker
from profilers.measuring.clocks import Batch, Clocks, batch_sizes

FreshCase = tuple[Workload, CaseFiles]
_CALLS_A_ROUND = 2
_RESIDENTS = 8  # for each timed workload more cases than stay on a device
_BATCH_CALLS = 8  # of a slow kernel: 1, 2 and 3 calls, after one that is not counted


class _DoubtfulFailure(Exception):
    """A failure that a fresh worker may not see again."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(str(failed))
        self.failed = failed


class Judge:
    """Judges built candidates with a GPU worker. Not thread-safe: one candidate at a time.

    `floors_us` has the least plausible time by workload; a workload without one has no limit.
    `on_stage` is told the stage of each candidate.
    """

    def __init__(
        self,
        task: KernelTask,
        worker: GpuWorker,
        settings: GpuSettings,
        *,
        floors_us: Mapping[str, float],
        on_stage: StageObserver = lambda _candidate_id, _stage: None,
    ) -> None:
        self._task = task
        self._on_stage = on_stage
        self._timed = task.timed_workloads
        self._worker = worker
        self._settings = settings
        self._floors_us = floors_us
        self._slowest_us = 0.0
        self._workloads = {workload.name: workload for workload in task.workloads}
        self._order = random.Random()

    def judge(
        self, built: Built, fresh: Sequence[FreshCase], settings: GpuSettings | None = None
    ) -> Evaluation:
        """The verdict on `built`; a suspect timing is taken again in a fresh worker.

        So is what may have been the machine's fault. `settings` replace the usual ones. Raises
        Failed for the candidate's fault, WorldError for any other.
        """
        settings = settings or self._settings
        try:
            evaluation = self._attempt(built, fresh, settings)
        except _DoubtfulFailure:
            return self._again(built, fresh, settings)
        if evaluation.status == "suspect":
            self._worker.replace()
            return self._again(built, fresh, settings)
        return evaluation

    def _again(self, built: Built, fresh: Sequence[FreshCase], settings: GpuSettings) -> Evaluation:
        try:
            return self._attempt(built, fresh, settings)
        except _DoubtfulFailure as doubtful:
            raise doubtful.failed from None

    def _attempt(
        self, built: Built, fresh: Sequence[FreshCase], settings: GpuSettings
    ) -> Evaluation:
        self._on_stage(built.candidate.id, "verifying")
        self._worker.ready()
        findings = Findings(self._task, built.build())
        try:
            resources = load(self._worker, "candidate", built, settings)
            findings.build = built.build(resources)
            self._verify_fresh(fresh, findings, settings)
            self._verify_residents(findings, settings)
            findings.check_errors()
            self._on_stage(built.candidate.id, "timing")
            measured = self._measure(findings, settings)
        except (ChildGone, RequestRefused) as failure:
            raise self._failure_of(failure, findings) from None
        timing = timing_of(self._task, built.candidate.id, measured)
        reason = why_suspect(measured, timing, self._floors_us)
        return self._evaluation(built, findings, timing, reason)

    def _verify_fresh(
        self, fresh: Sequence[FreshCase], findings: Findings, settings: GpuSettings
    ) -> None:
        """Verify the workloads that are not timed, on fresh inputs."""
        for workload, case in fresh:
            findings.doing = f"running workload {workload.name} {workload.shape}"
            reply = self._worker.ask(
                {
                    "op": "verify_fresh",
                    "role": "candidate",
                    "workload": workload.name,
                    "case": case.to_json(),
                },
                timeout_s=settings.verify_deadline_s + settings.upload_s(case.size_bytes),
            )
            findings.checked.append((workload, reply))
            self._conclude(findings, reply["damaged"])

    def _verify_residents(self, findings: Findings, settings: GpuSettings) -> None:
        """Verify the cases that stay on the device: timed workloads and other distributions."""
        names = ", ".join(f"{workload.name} {workload.shape}" for workload in self._timed)
        findings.doing = f"running workload {names}"
        reply = self._worker.ask(
            {"op": "verify", "role": "candidate"},
            # A fresh worker runs the baseline as well; its time is known, because it was judged
            # first.
            timeout_s=settings.verify_deadline_s
            + _RESIDENTS * len(self._timed) * self._slowest_us / 1e6,
        )
        findings.checked += [
            (self._workloads[answer["workload"]], answer) for answer in reply["cases"]
        ]
        self._conclude(findings, reply["damaged"])

    def _measure(self, findings: Findings, settings: GpuSettings) -> list[Measured]:
        """Times of all timed workloads, with the comparison of clocks on each."""
        return [
            Measured(workload, answer, self._compare_clocks(workload, answer, findings, settings))
            for workload, answer in self._time(findings, settings)
        ]

    def _time(self, findings: Findings, settings: GpuSettings) -> Timed:
        findings.doing = "being timed"
        # The baseline is timed alongside; it was judged first, so its time is known here.
        self._slowest_us = max(self._slowest_us, *(run["us"] for _, run in findings.checked))
        answer = self._worker.ask(
            {"op": "time", "plan": asdict(settings.timing_plan())},
            timeout_s=settings.time_deadline_s + len(self._timed) * self._calls_s(settings),
        )
        timed = [(workload, answer["shapes"][workload.name]) for workload in self._timed]
        self._conclude_timing(findings, timed, answer["damaged"])
        findings.check_timed_errors(timed)
        return timed

    def _calls_s(self, settings: GpuSettings) -> float:
        """Seconds that a workload's timed calls take if all are as slow as the slowest seen."""
        rounds = settings.min_blocks * (1 + settings.rounds)
        return (_CALLS_A_ROUND * rounds + _BATCH_CALLS) * self._slowest_us / 1e6

    def _compare_clocks(
        self,
        workload: Workload,
        answer: Mapping[str, Any],
        findings: Findings,
        settings: GpuSettings,
    ) -> Clocks:
        """Time batches of several sizes on three clocks, until they agree or all tries are used.

        A busy host makes clocks disagree by chance; a candidate's trick does so every time.
        """
        findings.doing = "being timed in batches"
        call_us = min(us for block in answer["blocks"] for us in block["candidate_us"])
        deadline_s = settings.time_deadline_s + self._calls_s(settings)
        self._batch(workload, 1, deadline_s)  # prepares them
        clocks = Clocks()
        for _ in range(max(1, settings.clock_tries)):
            clocks = Clocks()
            for calls in batch_sizes(call_us, settings.batch_us, self._order):
                clocks.batches.append(self._batch(workload, calls, deadline_s))
            if clocks.disagreement() is None:
                break
        guarded = self._worker.ask({"op": "guard"}, timeout_s=settings.verify_deadline_s)
        self._conclude_timing(findings, [], guarded["damaged"])
        return clocks

    def _batch(self, workload: Workload, calls: int, deadline_s: float) -> Batch:
        begin = time.perf_counter()
        reply = self._worker.ask(
            {"op": "batch", "role": "candidate", "workload": workload.name, "calls": calls},
            timeout_s=deadline_s,
        )
        outside_us = (time.perf_counter() - begin) * 1e6
        return Batch(calls, float(reply["event_us"]), float(reply["host_us"]), outside_us)

    def _conclude(self, findings: Findings, damaged: Sequence[str]) -> None:
        """Failed if anything is wrong; what damages memory ruins its worker."""
        if damaged:
            self._worker.replace()
        findings.conclude(damaged)

    def _conclude_timing(self, findings: Findings, timed: Timed, damaged: Sequence[str]) -> None:
        if damaged:
            self._worker.replace()
        findings.conclude_timing(timed, damaged)

    def _failure_of(self, failure: ChildGone | RequestRefused, findings: Findings) -> Exception:
        """The exception to raise: the candidate's failure, certain or in doubt, or WorldError.

        A fresh process checks the GPU before a candidate is blamed for what a lost driver, a
        failing board or a lack of memory would cause as well.
        """
        if isinstance(failure, RequestRefused) and failure.kind == "internal":
            return WorldError(f"the GPU worker failed: {failure}")
        if needs_gpu_probe(failure) and (wrong := self._worker.probe()) is not None:
            return WorldError(f"the GPU does not answer: {wrong} (seen when {failure})")
        failed = (
            findings.lost(failure) if isinstance(failure, ChildGone) else findings.rejected(failure)
        )
        return _DoubtfulFailure(failed) if may_be_world_fault(failure) else failed

    def _evaluation(
        self, built: Built, findings: Findings, timing: Timing, reason: str | None
    ) -> Evaluation:
        return Evaluation(
            candidate_id=built.candidate.id,
            status="measured" if reason is None else "suspect",
            message=reason or "",
            build=findings.build,
            verification=findings.verification,
            timing=timing,
        )


def load(
    worker: GpuWorker, role: str, built: Built, settings: GpuSettings
) -> dict[str, dict[str, int]]:
    """Load a program into the worker as `role`; its resources per kernel."""
    reply = worker.ask(
        {
            "op": "load",
            "role": role,
            "cubin": str(built.compiled.cubin),
            "kernels": list(built.kernels),
            "calls": {name: call.to_json() for name, call in built.calls.items()},
        },
        timeout_s=settings.load_deadline_s,
    )
    resources: dict[str, dict[str, int]] = reply["resources"]
    return resources
