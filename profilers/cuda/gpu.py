"""The evaluator on a real GPU: compile, verify, time, whatever the candidate does."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    Isolation,
    KernelTask,
    Profile,
    Work,
    Workload,
)
from mcts.errors import InputError, WorldError
from mcts.ports import Stage, StageObserver
from profilers.children.processes import ChildGone
from profilers.compiling.building import Built, Failed, build
from profilers.compiling.compiler import Compiled, Compiler, architecture
from profilers.cuda import verdict
from profilers.cuda.bench import Bench, Rejected
from profilers.cuda.cases import CaseStore, Reference
from profilers.cuda.gate import gate, workload_bytes
from profilers.cuda.judging import FreshCase, Judge, load
from profilers.cuda.settings import GpuSettings
from profilers.hardware.device import find_gpu
from profilers.hardware.locks import GpuLock
from profilers.hardware.rates import SUPPORT_SOURCE, measured_rates
from profilers.hardware.residency import check_room
from profilers.measuring.energy import Run, Runners
from profilers.measuring.metering import with_energy

__all__ = ["GpuEvaluator", "GpuSettings", "Runners"]

Progress = Callable[[str], None]
_DEFAULTS = GpuSettings()
_MOST_OUTPUTS = 1000
_SETUP_S = 60.0


class GpuEvaluator:
    """Judges `cuda` candidates of one task on one GPU; implements the port `Evaluator`.

    Compiles run side by side in compiler processes; the GPU is used by one candidate at a time.
    Candidates run in a worker that is killed and replaced after a fault or a missed deadline.
    Constructing it takes the GPU's lock, asks the reference whether the task can be judged,
    computes it on the timed cases and judges the baseline: InputError where the task is faulty or
    there is no GPU, WorldError where the GPU is taken or does not answer.

    `marks` is what a reader of any of its results should know; every evaluation has it in `notes`.
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
        if len(task.outputs) > _MOST_OUTPUTS:
            raise InputError(
                f"task {task.name} has {len(task.outputs)} outputs; at most {_MOST_OUTPUTS} can "
                "be compared"
            )
        self.marks: tuple[str, ...] = ()
        self._isolation: Isolation | None = None
        self.task = task
        self.settings = settings
        self.gpu = find_gpu(device)
        self._cache_dir = cache_dir
        self._say: Progress = on_progress or (lambda _text: None)
        self._observer: StageObserver = lambda _candidate_id, _stage: None
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
        return self._evaluate(candidate, self._judge_once)

    def tell_stages(self, observer: StageObserver) -> None:
        """Tell `observer` what is done to each candidate."""
        self._observer = observer

    def _tell(self, candidate_id: str, stage: Stage) -> None:
        self._observer(candidate_id, stage)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Judge a finalist again: in a fresh worker, on cases nobody has seen, over more blocks.

        What `evaluation` knows of profile and energy is kept where the finalist holds.
        """
        found = self._evaluate(candidate, self._judge_afresh)
        blocks = self.settings.confirm_blocks
        note = f"confirmed in a fresh process, on fresh inputs, over up to {blocks} blocks"
        update: dict[str, object] = {"notes": (*found.notes, note)}
        if found.measured:
            update |= {"profile": evaluation.profile, "energy": evaluation.energy}
        return found.model_copy(update=update)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy of a call beside the baseline's; takes some seconds.

        Of several timed workloads it is that of the heaviest, which a note then says.
        """
        runners = self.workload_runner(candidate)
        found = with_energy(evaluation, uuid=self.gpu.uuid, runners=runners)
        if found.energy is None or len(self.task.timed_workloads) == 1:
            return found
        note = f"energy is that of workload {self.task.timed_workload.name} alone"
        return found.model_copy(update={"notes": (*found.notes, note)})

    @contextlib.contextmanager
    def workload_runner(self, candidate: Candidate) -> Iterator[Runners]:
        """Both programs ready on the device, to be run on the heaviest workload as often as needed.

        The GPU belongs to the caller until the context ends. InputError where the candidate cannot
        be built; WorldError, also from the runners, where running fails: it is for candidates that
        were measured before.
        """
        try:
            built = build(self.task, self._compiler, candidate)
        except Failed as failed:
            raise InputError(f"nothing to run: {failed}") from None
        with self._gpu_for(candidate.id, "metering"):
            try:
                self._bench.ready()
                load(self._bench, "candidate", built, self.settings)
            except (ChildGone, Rejected) as error:
                raise WorldError(f"{candidate.id} could not be run again: {error}") from None
            yield Runners(self._runner("baseline"), self._runner("candidate"))

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Counters, SASS facts and the roofline of a measured candidate."""
        time_us = evaluation.timing.heaviest.median_us if evaluation.timing else None
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
        memory = self.gpu.hardware.memory_bytes
        check_room(self.task, memory_bytes=memory, cases=self.settings.cases)
        self._compiler = Compiler(
            arch=architecture(self.gpu.compute_capability),
            cache_dir=self._cache_dir,
            processes=self.settings.compile_processes,
            deadline_s=self.settings.compile_deadline_s,
        )
        self._closers.append(self._compiler.close)
        reference = Reference(self.task)
        self.marks = gate(self.task, reference, ungated=self.settings.ungated)
        self._store = CaseStore(self.task, reference)
        self._closers.append(self._store.close)
        with ThreadPoolExecutor(1) as pool:
            cases = pool.submit(self._timed_cases)
            support = self._support()
            self._baseline = self._build_baseline()
            self._cases = cases.result()
        self._varied = self._varied_workload()
        self._variations = self._store.make_variations(self._varied) if self._varied else []
        self._bench = Bench(
            device=self.gpu.ordinal,
            support=support.cubin,
            setup=self._set_up,
            readable=(self._store.folder, self._compiler.folder),
        )
        self._closers.append(self._bench.close)
        self._say(f"starting a worker on {self.gpu.hardware.name}")
        self._bench.ready()
        if self._bench.note is not None:
            self._say(self._bench.note)
            self.marks = (*self.marks, self._bench.note)
        self.rates = measured_rates(
            self.gpu,
            support.cubin,
            bench=self._bench,
            cache_dir=self._cache_dir,
            on_progress=self._say,
        )
        l2_bytes = self.gpu.hardware.l2_bytes or 0
        floors_us = {
            workload.name: verdict.floor_us(self.task, self.rates, l2_bytes, workload)
            for workload in self.task.timed_workloads
        }
        self._judge = Judge(
            self.task, self._bench, self.settings, floors_us=floors_us, on_stage=self._tell
        )
        self._check_baseline()

    def _evaluate(self, candidate: Candidate, judge: Callable[[Built], Evaluation]) -> Evaluation:
        isolation = None
        self._tell(candidate.id, "compiling")
        try:
            built = build(self.task, self._compiler, candidate)
            self._tell(candidate.id, "verifying")
            isolation = self._isolation
            found = judge(built)
            isolation = self._isolation
        except Failed as failed:
            found = Evaluation(
                candidate_id=candidate.id,
                status=failed.status,
                message=str(failed),
                build=failed.build,
                verification=failed.verification,
                refusal=failed.refusal,
            )
        return found.model_copy(
            update={"notes": (*found.notes, *self.marks), "isolation": isolation}
        )

    def _judge_once(self, built: Built) -> Evaluation:
        fresh = self._fresh_cases()
        try:
            with self._gpu_for(built.candidate.id, "verifying"):
                return self._judged(built, fresh)
        finally:
            self._store.discard([case for _, case in fresh])

    def _judge_afresh(self, built: Built) -> Evaluation:
        fresh = self._fresh_cases()
        cases = self._timed_cases()
        try:
            with self._gpu_for(built.candidate.id, "verifying"):
                usual, self._cases = self._cases, cases
                self._bench.replace()
                try:
                    return self._judged(built, fresh, self.settings.for_finalists())
                finally:
                    self._cases = usual
                    self._bench.replace()
        finally:
            self._store.discard([case for _, case in (*cases, *fresh)])

    @contextlib.contextmanager
    def _gpu_for(self, candidate_id: str, stage: Stage) -> Iterator[None]:
        """The GPU, for what `stage` says; where others use it, the candidate waits meanwhile."""
        if not self._gpu_lock.acquire(blocking=False):
            self._tell(candidate_id, "waiting")
            self._gpu_lock.acquire()
        try:
            self._tell(candidate_id, stage)
            yield
        finally:
            self._gpu_lock.release()

    def _judged(
        self, built: Built, fresh: list[FreshCase], settings: GpuSettings | None = None
    ) -> Evaluation:
        self._bench.ready()
        self._isolation = self._bench.isolation
        return self._judge.judge(built, fresh, settings)

    def _runner(self, role: str) -> Run:
        per_call_s, workload = 0.0, self.task.timed_workload.name

        def run(calls: int) -> None:
            nonlocal per_call_s
            timeout_s = self.settings.time_deadline_s + 10 * calls * per_call_s
            try:
                reply = self._bench.ask(
                    {"op": "batch", "role": role, "workload": workload, "calls": calls},
                    timeout_s=timeout_s,
                )
            except (ChildGone, Rejected) as error:
                raise WorldError(f"the {role} could not be run again: {error}") from None
            per_call_s = max(per_call_s, reply["host_us"] / calls / 1e6)

        return run

    def _timed_cases(self) -> list[FreshCase]:
        count = self.settings.cases
        return [
            (workload, case)
            for workload in self.task.timed_workloads
            for case in self._store.make(workload, count=count, on_progress=self._say)
        ]

    def _varied_workload(self) -> Workload | None:
        """The workload that is also verified on other distributions: the largest small one.

        Rather one that is not timed; a timed one where there is no other; None where all are
        large.
        """
        others = self._untimed() or list(self.task.timed_workloads)
        small = [
            item for item in others
            if workload_bytes(self.task, item) < self.settings.variation_bytes
        ]  # fmt: skip
        return max(small, key=lambda item: workload_bytes(self.task, item), default=None)

    def _fresh_cases(self) -> list[FreshCase]:
        return [(workload, self._store.make(workload)[0]) for workload in self._untimed()]

    def _untimed(self) -> list[Workload]:
        """The workloads that are verified only."""
        return [workload for workload in self.task.workloads if workload.weight == 0]

    def _profile(
        self, candidates: Sequence[Candidate], times_us: Sequence[float | None]
    ) -> list[Profile]:
        from profilers.profiles.profiling import ProfilingRequest, data_of, profile_all

        timed = self.task.timed_workload
        data, work = data_of(self.task.buffers, timed.shape), Work.of(self.task)
        requests: list[ProfilingRequest | str] = []
        for candidate, time_us in zip(candidates, times_us, strict=True):
            self._tell(candidate.id, "compiling")
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
        with self._gpu_for(candidates[0].id if candidates else "", "profiling"):
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
        task = self.task
        residents = list(self._cases)
        if self._varied is not None:
            residents += [(self._varied, case) for case in self._variations]
        bench.ask(
            {
                "op": "cases",
                "timed": {
                    workload.name: [
                        {
                            "name": buffer.name,
                            "role": buffer.role,
                            "dtype": buffer.dtype,
                            "fill": buffer.fill,
                            "elements": math.prod(buffer.extents(workload.shape)),
                        }
                        for buffer in task.buffers
                    ]
                    for workload in task.timed_workloads
                },
                "tolerance": [task.tolerance.relative, task.tolerance.absolute],
                "cases": [
                    {"workload": workload.name, "label": case.label, "case": case.to_json()}
                    for workload, case in residents
                ],
            },
            timeout_s=_SETUP_S
            + self.settings.upload_s(sum(case.size_bytes for _, case in residents)),
        )
        load(bench, "baseline", self._baseline, self.settings)

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
