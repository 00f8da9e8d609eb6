"""From a candidate to a cubin and launch parameters: everything that needs no GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mcts.domain import (
    Build,
    Candidate,
    KernelTask,
    Refusal,
    Verification,
    kernel_macros,
    parse_launch_plan,
)
from mcts.errors import InputError
from profilers.compiling.arguments import misfits
from profilers.compiling.calls import Call
from profilers.compiling.compiler import Compiled, CompileFailed, Compiler, CompileTimedOut
from profilers.compiling.lowering import configuration, lower


class Failed(Exception):
    """The candidate failed, which is evidence for the search, never an error of the run."""

    def __init__(
        self,
        status: Literal["compile_failed", "wrong_result", "runtime_error", "timed_out", "refused"],
        message: str,
        *,
        build: Build | None = None,
        verification: Verification | None = None,
        refusal: Refusal | None = None,
    ) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.status = status
        self.build = build
        self.verification = verification


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled candidate with its call on every workload, by the workload's name."""

    candidate: Candidate
    compiled: Compiled
    calls: dict[str, Call]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels that some workload launches; macros may remove others from the source."""
        return tuple(dict.fromkeys(name for call in self.calls.values() for name in call.kernels))

    def build(self, resources: dict[str, dict[str, int]] | None = None) -> Build:
        return Build(
            seconds=self.compiled.seconds,
            cached=self.compiled.cached,
            log=self.compiled.log,
            cubin_sha256=self.compiled.sha256,
            **(resources or {}),
        )


def build(task: KernelTask, compiler: Compiler, candidate: Candidate) -> Built:
    """Parse the plan, compile, and evaluate the plan for every workload.

    Raises Failed if the candidate is at fault.
    """
    try:
        plan = parse_launch_plan(candidate.source)
        plan.check_names(
            buffers=frozenset(buffer.name for buffer in task.buffers),
            shape=task.shape_names,
        )
        values = configuration(plan, candidate)
    except InputError as error:
        raise Failed("compile_failed", f"launch plan: {error}") from None
    try:
        compiled = compiler.compile(candidate.source, kernel_macros(values))
    except CompileFailed as error:
        build = Build(seconds=error.seconds, log=error.log)
        late = isinstance(error, CompileTimedOut)
        raise Failed("timed_out" if late else "compile_failed", str(error), build=build) from None
    built = Built(candidate, compiled, {})
    try:
        for workload in task.workloads:
            built.calls[workload.name] = lower(task, plan, values, workload)
    except InputError as error:
        raise Failed("runtime_error", str(error), build=built.build()) from None
    for kernel in built.kernels:
        if compiled.kernels and kernel not in compiled.kernels:
            raise Failed("compile_failed", _missing(kernel, compiled), build=built.build())
    for call in built.calls.values():
        for number, step in enumerate(call.steps, start=1):
            for wrong in misfits(step, number, compiled.parameters):
                raise Failed("runtime_error", wrong, build=built.build())
    return built


def _missing(kernel: str, compiled: Compiled) -> str:
    found = ", ".join(sorted(compiled.kernels))
    return (
        f"the plan launches kernel {kernel!r}, which the compiled source does not define (it "
        f'defines: {found}); declare it as extern "C" __global__ void {kernel}(...)'
    )
