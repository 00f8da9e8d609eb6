"""Profiles of single kernels outside of a search, for `rooftree inspect`.

Nothing is verified here: the kernel is run as it is, on random inputs, in processes that are
killed when they fault or hang.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from mcts.domain import (
    Hardware,
    KernelProfile,
    KernelSpec,
    Profile,
    Scalar,
    Work,
    kernel_macros,
)
from mcts.errors import InputError, WorldError
from profilers import ncu
from profilers.compiling.arguments import misfits
from profilers.compiling.compiler import Compiled, CompileFailed, Compiler, architecture
from profilers.compiling.lowering import lower_plan
from profilers.hardware.device import find_gpu
from profilers.hardware.locks import GpuLock
from profilers.launching.requests import ProfilingRequest, profiled_buffers
from profilers.measuring.rates import SUPPORT_SOURCE, measured_rates
from profilers.profiles.profiling import TIMELINE, profile_all
from profilers.sass import read_sass
from profilers.sass.by_line import CodedLine, read_code

DEFAULT_ARCH = "sm_90a"
_LOCK_WAIT_S = 60.0
_COMPILE_DEADLINE_S = 60.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class KernelToInspect:
    """A kernel to inspect: its source, its spec, and values of its tunables."""

    source: str
    spec: KernelSpec
    tunables: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result for a kernel: its profile, its time per call in microseconds, its least work.

    `recorded_on` is the ISO date of a recording, None if it was just measured.
    """

    profile: Profile
    time_us: float | None = None
    work: Work | None = None
    recorded_on: str | None = None


class Inspector:
    """Profiles kernels on one GPU; a context manager that holds the GPU's lock.

    Raises InputError if there is no GPU or no compiler, WorldError if the GPU is in use.
    """

    def __init__(
        self,
        *,
        device: int = 0,
        cache_dir: Path | None = None,
        on_progress: Progress | None = None,
    ) -> None:
        self._gpu = find_gpu(device)
        self._cache_dir = cache_dir
        self._say: Progress = on_progress or (lambda _text: None)
        self._closers: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        lock = GpuLock(self._gpu.uuid)
        lock.acquire(wait_s=_LOCK_WAIT_S, on_wait=self._say)
        self._closers.append(lock.release)
        self._compiler = Compiler(
            arch=architecture(self._gpu.compute_capability),
            cache_dir=self._cache_dir,
            deadline_s=_COMPILE_DEADLINE_S,
        )
        self._closers.append(self._compiler.close)
        return self

    def __exit__(self, *_: object) -> None:
        while self._closers:
            self._closers.pop()()

    @cached_property
    def hardware(self) -> Hardware:
        """The device with the ceilings measured on it."""
        rates = measured_rates(
            self._gpu, self._support.cubin, cache_dir=self._cache_dir, on_progress=self._say
        )
        return self._gpu.hardware.model_copy(update={"ceilings": rates.ceilings})

    def profile(self, source: str, spec: KernelSpec, tunables: Mapping[str, Scalar]) -> Inspected:
        """Compile, run and profile one kernel. InputError if something is wrong with it."""
        return self.profile_many([KernelToInspect(source, spec, tunables)])[0]

    def profile_many(self, kernels: Sequence[KernelToInspect]) -> list[Inspected]:
        """Profile several kernels, in order, with one start of each profiler."""
        requests = [self._request(kernel) for kernel in kernels]
        hardware = self.hardware
        self._say("profiling")
        profiled = profile_all(
            requests,
            hardware=hardware,
            device=self._gpu.ordinal,
            support=self._support.cubin,
        )
        return [
            Inspected(profile=item.profile, time_us=item.time_us, work=request.work)
            for request, item in zip(requests, profiled, strict=True)
        ]

    @cached_property
    def _support(self) -> Compiled:
        return self._compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)

    def _request(self, kernel: KernelToInspect) -> ProfilingRequest:
        spec, values = kernel.spec, dict(kernel.tunables)
        spec.check()
        spec.space.check(values)
        compiled = _compile(self._compiler, kernel.source, values)
        call = lower_plan(
            spec,
            values,
            shape=spec.shape,
            buffers=spec.buffer,
            place="the plan",
        )
        return ProfilingRequest(
            cubin=compiled.cubin,
            call=call,
            data=profiled_buffers(spec.buffer, spec.shape),
            work=spec.work(values),
            timeline=True,
        )


def static_profile(
    source: str,
    tunables: Mapping[str, Scalar],
    *,
    arch: str = DEFAULT_ARCH,
    cache_dir: Path | None = None,
    spec: KernelSpec | None = None,
) -> Profile:
    """A profile without a GPU: the SASS facts of every kernel.

    Raises InputError if the source does not compile, there is no compiler, or the launches of
    `spec`, if it says on what, cannot be made or do not fit the kernels' parameters.
    """
    compiler = Compiler(arch=arch, cache_dir=cache_dir, processes=1, deadline_s=_COMPILE_DEADLINE_S)
    try:
        compiled = _compile(compiler, source, tunables)
        if spec is not None and spec.buffer:
            _check_launches(spec, tunables, compiled)
        facts = read_sass(compiled.cubin)
    finally:
        compiler.close()
    nothing_ran = f"nothing was run: compiled for {arch} and read as machine code only"
    return Profile(
        kernels=tuple(KernelProfile(name=name, sass=found) for name, found in facts.items()),
        missing={ncu.TOOL: nothing_ran, TIMELINE: nothing_ran},
    )


def code_beside_source(
    source: str, tunables: Mapping[str, Scalar], *, arch: str = DEFAULT_ARCH
) -> dict[str, tuple[CodedLine, ...]]:
    """The machine code of every kernel by the line of `source` that it came from.

    Raises InputError if the source does not compile, or a tool is absent.
    """
    compiler = Compiler(arch=arch, cache_dir=None, processes=1, deadline_s=_COMPILE_DEADLINE_S)
    try:
        return read_code(_compile(compiler, source, tunables).cubin)
    except WorldError as error:
        raise InputError(str(error)) from None
    finally:
        compiler.close()


def _check_launches(spec: KernelSpec, tunables: Mapping[str, Scalar], compiled: Compiled) -> None:
    """Raise InputError for the first launch that is impossible or passes what does not fit."""
    call = lower_plan(
        spec, tunables, shape=spec.shape, buffers=spec.buffer, place="the launch plan"
    )
    for number, step in enumerate(call.steps, start=1):
        for wrong in misfits(step, number, compiled.parameters):
            raise InputError(wrong)


def _compile(compiler: Compiler, source: str, values: Mapping[str, Any]) -> Compiled:
    try:
        return compiler.compile(source, kernel_macros(values))
    except CompileFailed as failed:
        raise InputError(str(failed)) from None
    except WorldError as error:
        raise InputError(f"the kernel cannot be compiled here: {error}") from None
