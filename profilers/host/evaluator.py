"""The evaluator of KernelBench problems whose candidates may be host code as well as PyTorch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from mcts.domain import HOST, Candidate, Evaluation, KernelTask
from mcts.errors import InputError
from profilers.compiling.building import Failed
from profilers.compiling.compiler import architecture
from profilers.host.building import HostBuilder, compile_host
from profilers.host.compiler import HostCompiler
from profilers.host.nvcc import nvcc_problem
from profilers.host.settings import HostSettings
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from profilers.kernelbench.judge.profiling import MachineCode

_DEFAULT_ARCH = "sm_90a"


class HostEvaluator(KernelBenchEvaluator):
    """Judges `.cu` candidates with a launcher as well as `.py` ones, on one GPU.

    A source says itself which it is (`HOST.recognises`). Several threads may evaluate at a time:
    they compile in parallel and measure in turn. InputError if the task is about host code and
    nvcc is missing; for other tasks the first host candidate needs it, nothing before.
    """

    def __init__(
        self,
        task: KernelTask,
        *,
        host: HostSettings | None = None,
        cache_dir: Path | None = None,
        **options: Any,
    ) -> None:
        about_host = HOST in (task.dialect, task.dialect_of(task.baseline.source))
        if about_host and (problem := nvcc_problem()) is not None:
            raise InputError(problem)
        self._host = host or HostSettings()
        self._cache_dir = cache_dir
        super().__init__(task, **options)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Compile without holding the GPU, then judge."""
        if not HOST.recognises(candidate.source):
            return super().evaluate(candidate)
        self._tell(candidate.id, "compiling")
        begin = time.monotonic()
        self._host_builder.prepare(candidate)
        return self._judged(candidate, spent_s=time.monotonic() - begin)

    def _machine_code(self, candidate: Candidate) -> MachineCode:
        """The machine code of a host candidate's kernels, as its compilation reported it."""
        if not HOST.recognises(candidate.source):
            return super()._machine_code(candidate)
        try:
            compiled = compile_host(self._compiler, candidate)
        except Failed as failed:
            return MachineCode(missing=str(failed))
        return MachineCode(compiled.sass, compiled.sass_missing)

    def _make_builder(self) -> HostBuilder:
        place = self._place
        gpu = place.gpu
        arch = architecture(gpu.compute_capability) if gpu is not None else _DEFAULT_ARCH
        self._compiler = HostCompiler(arch=arch, settings=self._host, cache_dir=self._cache_dir)
        place.at_close(self._compiler.close)
        self._host_builder = HostBuilder(
            place.fork_server,
            folder=place.folder / "builds",
            gpu=gpu,
            settings=self.settings,
            built=self._built,
            compiler=self._compiler,
            weights=lambda: place.problem.oracle.ask("weights", seed=None)["weights"],
        )
        return self._host_builder
