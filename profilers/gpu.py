"""The evaluator on a real GPU: compile, verify, time, whatever the candidate does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile, Work
from mcts.errors import InputError
from profilers import verdict
from profilers.bench import Bench
from profilers.building import Built, Failed, build
from profilers.cases import CaseStore, Reference
from profilers.compiler import Compiled, Compiler, architecture
from profilers.device import find_gpu
from profilers.judging import FreshCase, Judge, load
from profilers.locks import GpuLock
from profilers.rates import SUPPORT_SOURCE, measured_rates
from profilers.settings import GpuSettings

__all__ = ["GpuEvaluator", "GpuSettings"]

Progress = Callable[[str], None]
_DEFAULTS = GpuSettings()


class GpuEvaluator:
    """Judges `cuda` candidates of one task on one GPU; implements the port `Evaluator`.

    Compiles run side by side in compiler processes; the GPU is used by one candidate at a time.
    Candidates run in a worker that is killed and replaced after a fault or a missed deadline.
    Constructing it takes the GPU's lock, computes the reference on the timed cases and judges the
    baseline: InputError where the task is faulty or there is no GPU, WorldError where the GPU is
    taken or does not answer.
    """

    name = "gpu"

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int = 0,
        cache_dir: Path | None = None,
        settings: GpuSettings = _DEFAULTS,
        on_progress: Progress | None = None,
    ) -> None:
        if task.dialect != "cuda":
            raise InputError(f"the GPU evaluator runs tasks of dialect cuda, not {task.dialect}")
        self.task = task
        self.settings = settings
        self.gpu = find_gpu(device)
        self._cache_dir = cache_dir
        self._say: Progress = on_progress or (lambda _text: None)
        self._gpu_lock = threading.Lock()
        self._closers: list[Callable[[], None]] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @cached_property
    def hardware(self) -> Hardware:
        """The device with the ceilings measured on it."""
        return self.gpu.hardware.model_copy(update={"ceilings": self.rates.ceilings})

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Compile, verify and time `candidate` against the baseline."""
        try:
            built = build(self.task, self._compiler, candidate)
            fresh = self._fresh_cases()
            try:
                with self._gpu_lock:
                    return self._judge.judge(built, fresh)
            finally:
                self._store.discard([case for _, case in fresh])
        except Failed as failed:
            return Evaluation(
                candidate_id=candidate.id,
                status=failed.status,
                message=str(failed),
                build=failed.build,
                verification=failed.verification,
            )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Counters, SASS facts and the roofline of a measured candidate."""
        time_us = evaluation.timing.median_us if evaluation.timing else None
        return self._profile([candidate], [time_us])[0]

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        """Profile several candidates under one start of the profiler, in order."""
        return self._profile(candidates, [None] * len(candidates))

    def close(self) -> None:
        """End all child processes, remove the cases and give the GPU back; idempotent."""
        while self._closers:
            self._closers.pop()()

    def _open(self) -> None:
        lock = GpuLock(self.gpu.uuid)
        lock.acquire(wait_s=self.settings.lock_wait_s, on_wait=self._say)
        self._closers.append(lock.release)
        self._compiler = Compiler(
            arch=architecture(self.gpu.compute_capability),
            cache_dir=self._cache_dir,
            processes=self.settings.compile_processes,
            deadline_s=self.settings.compile_deadline_s,
        )
        self._closers.append(self._compiler.close)
        self._store = CaseStore(self.task, Reference(self.task))
        self._closers.append(self._store.close)
        with ThreadPoolExecutor(1) as pool:
            cases = pool.submit(
                self._store.make,
                self.task.timed_workload,
                count=self.settings.cases,
                on_progress=self._say,
            )
            support = self._support()
            self._baseline = self._build_baseline()
            self._cases = cases.result()
        self._bench = Bench(device=self.gpu.ordinal, support=support.cubin, setup=self._set_up)
        self._closers.append(self._bench.close)
        self._say(f"starting a worker on {self.gpu.hardware.name}")
        self._bench.ready()
        self.rates = measured_rates(
            self.gpu,
            support.cubin,
            bench=self._bench,
            cache_dir=self._cache_dir,
            on_progress=self._say,
        )
        floor_us = verdict.floor_us(self.task, self.rates, self.gpu.hardware.l2_bytes or 0)
        self._judge = Judge(self.task, self._bench, self.settings, floor_us=floor_us)
        self._check_baseline()

    def _fresh_cases(self) -> list[FreshCase]:
        timed = self.task.timed_workload
        return [
            (workload, self._store.make(workload)[0])
            for workload in self.task.workloads
            if workload.name != timed.name
        ]

    def _profile(
        self, candidates: Sequence[Candidate], times_us: Sequence[float | None]
    ) -> list[Profile]:
        from profilers.profiling import ProfilingRequest, data_of, profile_all

        timed = self.task.timed_workload
        data, work = data_of(self.task.buffers, timed.shape), Work.of(self.task)
        requests: list[ProfilingRequest | str] = []
        for candidate, time_us in zip(candidates, times_us, strict=True):
            try:
                built = build(self.task, self._compiler, candidate)
            except Failed as failed:
                requests.append(f"not built: {failed}")
                continue
            call = built.calls[timed.name]
            requests.append(
                ProfilingRequest(
                    cubin=built.compiled.cubin,
                    call=call,
                    data=data,
                    work=work,
                    time_us=time_us,
                    timeline=len(call.launches) > 1,
                )
            )
        support = self._support()
        with self._gpu_lock:
            profiled = profile_all(
                requests,
                hardware=self.hardware,
                device=self.gpu.ordinal,
                support=support.cubin,
            )
        return [item.profile for item in profiled]

    def _support(self) -> Compiled:
        return self._compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)

    def _set_up(self, bench: Bench) -> None:
        """Give a fresh worker what every candidate needs: the cases and the baseline."""
        tolerance = self.task.tolerance
        bench.ask(
            {
                "op": "cases",
                "cases": [case.to_json() for case in self._cases],
                "tolerance": [tolerance.relative, tolerance.absolute],
            }
        )
        load(self.task, bench, "baseline", self._baseline, self.settings)

    def _build_baseline(self) -> Built:
        try:
            return build(self.task, self._compiler, self.task.baseline)
        except Failed as failed:
            log = f"\n{failed.build.log}" if failed.build and failed.build.log else ""
            raise InputError(
                f"the baseline of {self.task.name} is no usable candidate: {failed}{log}"
            ) from None

    def _check_baseline(self) -> None:
        """Judge the baseline like any candidate: everything is measured against it."""
        self._say("checking the baseline")
        self.baseline_evaluation = self.evaluate(self.task.baseline)
        if not self.baseline_evaluation.measured:
            raise InputError(
                f"the baseline of {self.task.name} fails ({self.baseline_evaluation.status}): "
                f"{self.baseline_evaluation.message}"
            )
