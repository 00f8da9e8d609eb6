"""The resources that judging one task needs: a GPU, a compiler, cases and a worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from mcts.domain import Candidate, Hardware, KernelTask, Workload
from mcts.errors import InputError
from profilers.compiling.building import Built, Failed, build
from profilers.compiling.compiler import Compiled, Compiler, architecture
from profilers.cuda.cases import CaseFiles, CaseStore, inputs_in_tf32
from profilers.cuda.gate import check_task, workload_bytes
from profilers.cuda.judging import FreshCase, load
from profilers.cuda.reference import NumpyReference
from profilers.cuda.residency import check_room
from profilers.cuda.settings import GpuSettings
from profilers.cuda.timing import floor_us
from profilers.hardware.device import find_gpu
from profilers.hardware.locks import GpuLock
from profilers.launching.gpu_worker import GpuWorker
from profilers.measuring.rates import SUPPORT_SOURCE, measured_rates
from profilers.profiles.starts import ProfilerStarts

_MOST_OUTPUTS = 1000
_SETUP_S = 60.0


class CudaWorkplace:
    """A GPU, a compiler, cases and a worker for one task.

    InputError if the task is not for this judge or there is no GPU.
    `marks` are notes for a reader of any of the task's results. The caller of `worker` must hold
    the evaluator's lock on the GPU.
    """

    worker: GpuWorker

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int,
        cache_dir: Path | None,
        settings: GpuSettings,
        say: Callable[[str], None],
    ) -> None:
        if not task.dialect.declares_launches:
            raise InputError(f"the GPU evaluator runs tasks of dialect cuda, not {task.dialect}")
        if len(task.outputs) > _MOST_OUTPUTS:
            raise InputError(
                f"task {task.name} has {len(task.outputs)} outputs; at most {_MOST_OUTPUTS} can "
                "be compared"
            )
        self.task, self.settings = task, settings
        self.gpu = find_gpu(device)
        self.marks: tuple[str, ...] = ()
        self._cache_dir, self._say = cache_dir, say
        self._closers: list[Callable[[], None]] = []
        self.profiler_starts = ProfilerStarts()
        self._for_finalists: list[FreshCase] | None = None

    def open(self) -> None:
        """Take the GPU, check the task, compute its cases, start a worker.

        InputError if the task is faulty, WorldError if the GPU is taken or does not answer.
        `close` ends what was opened by then.
        """
        self._take_gpu()
        self._compiler = Compiler(
            arch=architecture(self.gpu.compute_capability),
            cache_dir=self._cache_dir,
            processes=self.settings.compile_processes,
            deadline_s=self.settings.compile_deadline_s,
        )
        self._closers.append(self._compiler.close)
        reference = NumpyReference(self.task)
        self.marks = check_task(self.task, reference, ungated=self.settings.ungated)
        self._store = CaseStore(self.task, reference)
        self._closers.append(self._store.close)
        with ThreadPoolExecutor(1) as pool:
            cases = pool.submit(self.timed_cases)
            support = self.support()
            self._baseline = self._build_baseline()
            self._cases = cases.result()
        self._varied = self._varied_workload()
        self._variations = self._store.make_variations(self._varied) if self._varied else []
        self._closers.append(self.profiler_starts.close)
        self._start_worker(support)
        self.rates = measured_rates(
            self.gpu,
            support.cubin,
            worker=self.worker,
            cache_dir=self._cache_dir,
            on_progress=self._say,
        )

    def close(self) -> None:
        """End all child processes, remove the cases and give the GPU back; idempotent."""
        while self._closers:
            self._closers.pop()()

    @cached_property
    def hardware(self) -> Hardware:
        """The device with the ceilings measured on it."""
        return self.gpu.hardware.model_copy(update={"ceilings": self.rates.ceilings})

    def floors_us(self) -> dict[str, float]:
        """The least plausible time in us, by timed workload."""
        l2_bytes = self.gpu.hardware.l2_bytes or 0
        return {
            workload.name: floor_us(self.task, self.rates, l2_bytes, workload)
            for workload in self.task.timed_workloads
        }

    def build(self, candidate: Candidate) -> Built:
        """The candidate's machine code and calls; Failed if it has none."""
        return build(self.task, self._compiler, candidate)

    def support(self) -> Compiled:
        """The judge's own kernels."""
        return self._compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)

    def timed_cases(self) -> list[FreshCase]:
        """Newly drawn cases of the workloads that are timed."""
        count = self.settings.cases
        return [
            (workload, case)
            for workload in self.task.timed_workloads
            for case in self._store.make(workload, count=count, on_progress=self._say)
        ]

    def confirmation_cases(self) -> list[FreshCase]:
        """Cases of the timed workloads for all finalists, drawn for the first one.

        The search has never used them; that several finalists do tells none of them anything, as
        each runs in a process of its own.
        """
        if self._for_finalists is None:
            self._for_finalists = self.timed_cases()
        return self._for_finalists

    def fresh_cases(self) -> list[FreshCase]:
        """A newly drawn case of each workload that is verified only."""
        return [(workload, self._store.make(workload)[0]) for workload in self._untimed()]

    def discard(self, cases: list[FreshCase]) -> None:
        """Remove the files of cases that are no longer needed."""
        self._store.discard([case for _, case in cases])

    @contextmanager
    def afresh(self, cases: list[FreshCase]) -> Iterator[None]:
        """Use a fresh worker with `cases` inside; afterwards a fresh one with the usual cases."""
        usual, self._cases = self._cases, cases
        self.worker.replace()
        try:
            yield
        finally:
            self._cases = usual
            self.worker.replace()

    def _take_gpu(self) -> None:
        lock = GpuLock(self.gpu.uuid)
        lock.acquire(wait_s=self.settings.lock_wait_s, on_wait=self._say)
        self._closers.append(lock.release)
        memory = self.gpu.hardware.memory_bytes
        check_room(self.task, memory_bytes=memory, cases=self.settings.cases)

    def _start_worker(self, support: Compiled) -> None:
        self.worker = GpuWorker(
            device=self.gpu.ordinal,
            support=support.cubin,
            setup=self._set_up,
            readable=(self._store.folder, self._compiler.folder),
        )
        self._closers.append(self.worker.close)
        self._say(f"starting a worker on {self.gpu.hardware.name}")
        self.worker.ready()
        if self.worker.note is not None:
            self._say(self.worker.note)
            self.marks = (*self.marks, self.worker.note)

    def _set_up(self, worker: GpuWorker) -> None:
        """Give a fresh worker the cases and the baseline."""
        task, residents = self.task, self._residents()
        worker.ask(
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
                "in_tf32": inputs_in_tf32(task),
                "cases": [
                    {"workload": workload.name, "label": case.label, "case": case.to_json()}
                    for workload, case in residents
                ],
            },
            timeout_s=_SETUP_S
            + self.settings.upload_s(sum(case.size_bytes for _, case in residents)),
        )
        load(worker, "baseline", self._baseline, self.settings)

    def _residents(self) -> list[tuple[Workload, CaseFiles]]:
        residents = list(self._cases)
        if self._varied is not None:
            residents += [(self._varied, case) for case in self._variations]
        return residents

    def _build_baseline(self) -> Built:
        try:
            return self.build(self.task.baseline)
        except Failed as failed:
            log = f"\n{failed.build.log}" if failed.build and failed.build.log else ""
            raise InputError(
                f"the baseline of {self.task.name} is no usable candidate: {failed}{log}"
            ) from None

    def _varied_workload(self) -> Workload | None:
        """The workload that is also verified on other distributions: the largest of the small ones.

        Preferably one that is not timed; None if all are large.
        """
        others = self._untimed() or list(self.task.timed_workloads)
        small = [
            item for item in others
            if workload_bytes(self.task, item) < self.settings.variation_bytes
        ]  # fmt: skip
        return max(small, key=lambda item: workload_bytes(self.task, item), default=None)

    def _untimed(self) -> list[Workload]:
        """The workloads that are verified only."""
        return [workload for workload in self.task.workloads if workload.weight == 0]
