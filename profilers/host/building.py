"""Builds a host candidate: its shared object, and the file that makes a `ModelNew` of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcts.domain import HOST, Build, Candidate, parse_host_plan
from mcts.errors import InputError, WorldError
from profilers.compiling.building import Failed
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.host.compiler import CompiledHost, HostCompiler
from profilers.host.jailed import LIBRARY
from profilers.kernelbench.judge.building import BuiltModule, CandidateBuilder
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline

WeightSpecs = Mapping[str, Mapping[str, Any]]
_WRAPPER = '''\
"""Made by Rooftree: a compiled launcher as a PyTorch module."""

from profilers.host.module import host_model

ModelNew = host_model(
    library={library!r},
    plan={plan!r},
    tunables={tunables!r},
    weights={weights!r},
)
'''


class HostBuilder(CandidateBuilder):
    """Builds PyTorch candidates like its base class, and host candidates with `compiler`.

    `weights` returns the names of the reference's weights with their shapes and dtypes.
    """

    def __init__(
        self, *builder: Any, compiler: HostCompiler, weights: Callable[[], WeightSpecs], **more: Any
    ) -> None:
        super().__init__(*builder, **more)
        self._compiler = compiler
        self._weights = weights
        self._made: dict[str, CompiledHost | Failed] = {}

    def prepare(self, candidate: Candidate) -> None:
        """Compile a host candidate ahead, in parallel with other threads, for a later `build`."""
        if candidate.id in self._built:
            return
        try:
            self._made[candidate.id] = compile_host(self._compiler, candidate)
        except Failed as failed:
            self._made[candidate.id] = failed

    def build(self, candidate: Candidate, deadline: VerdictDeadline = UNBOUNDED) -> BuiltModule:
        """Build `candidate`. Failures of host candidates are kept by the compiler alone."""
        try:
            return super().build(candidate, deadline)
        except Failed:
            if HOST.recognises(candidate.source):
                self._built.pop(candidate.id, None)
            raise

    def _build(self, candidate: Candidate, deadline: VerdictDeadline) -> BuiltModule:
        if not HOST.recognises(candidate.source):
            return super()._build(candidate, deadline)
        compiled = self._made.pop(candidate.id, None) or compile_host(self._compiler, candidate)
        if isinstance(compiled, Failed):
            raise compiled
        folder = self._folder / candidate.id / "work"
        source = self._folder / candidate.id / "source" / "candidate.py"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            source.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled.library, source.with_name(LIBRARY))
            source.write_text(self._wrapper(candidate, source.with_name(LIBRARY)), "utf-8")
        except OSError as error:
            raise WorldError(f"cannot write {source}: {error.strerror}") from error
        environment = self._environment(folder)
        return BuiltModule(folder, source, candidate.source, environment, _build_facts(compiled))

    def _wrapper(self, candidate: Candidate, library: Path) -> str:
        plan = parse_host_plan(candidate.source)
        shapes = {
            name: (tuple(spec["shape"]), str(spec["dtype"]))
            for name, spec in self._weights().items()
        }
        return _WRAPPER.format(
            library=str(library),
            plan=plan.model_dump_json(),
            tunables=plan.values(candidate.tunables),
            weights=shapes,
        )


def compile_host(compiler: HostCompiler, candidate: Candidate) -> CompiledHost:
    """The candidate's shared object; Failed if that is the candidate's own fault."""
    try:
        plan = parse_host_plan(candidate.source)
        return compiler.compile(candidate.source, plan, candidate.tunables)
    except InputError as error:
        raise Failed("compile_failed", f"host plan: {error}", build=Build()) from None
    except CompileFailed as error:
        build = Build(seconds=error.seconds, log=error.log)
        late = isinstance(error, CompileTimedOut)
        raise Failed("timed_out" if late else "compile_failed", str(error), build=build) from None


def _build_facts(compiled: CompiledHost) -> Build:
    def counts(name: str) -> dict[str, int]:
        return {kernel: found.get(name, 0) for kernel, found in compiled.resources.items()}

    return Build(
        seconds=compiled.seconds,
        cached=compiled.cached,
        log=compiled.log,
        registers=counts("registers"),
        shared_bytes=counts("shared_bytes"),
        local_bytes=counts("local_bytes"),
    )
