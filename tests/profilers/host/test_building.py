"""A host candidate on its way from the compiler to the judge, and a machine without nvcc."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from experiments.runs.tasks.problems import problem_task
from mcts.domain import Candidate, HostPlan, Policy, Scalar
from mcts.errors import InputError
from profilers.children.fork_server import ForkServer
from profilers.compiling.building import Failed
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.host import evaluator
from profilers.host.building import HostBuilder
from profilers.host.compiler import CompiledHost, HostCompiler
from profilers.kernelbench.judge.settings import KernelBenchSettings
from tests.support.host_sources import PROBLEM, source

CANDIDATE = Candidate(source=source())


class Counting:
    """A compiler that takes 30 seconds at first and finds it made later, or fails each time."""

    def __init__(self, folder: Path, *, failure: CompileFailed | None = None) -> None:
        self.library = folder / "made.so"
        self.library.write_bytes(b"library")
        self.failure = failure
        self.calls = 0

    def compile(self, source: str, plan: HostPlan, tunables: Mapping[str, Scalar]) -> CompiledHost:
        self.calls += 1
        if self.failure:
            raise self.failure
        again = self.calls > 1
        return CompiledHost(self.library, "", {}, {}, None, 0.0 if again else 30.0, again)


def builder(compiler: Counting, folder: Path) -> HostBuilder:
    return HostBuilder(
        cast(ForkServer, None), folder=folder / "builds", gpu=None, settings=KernelBenchSettings(),
        compiler=cast(HostCompiler, compiler), weights=lambda: {},
    )  # fmt: skip


def test_a_prepared_build_is_reported_as_fresh(tmp_path: Path) -> None:
    compiler = Counting(tmp_path)
    made = builder(compiler, tmp_path)
    made.prepare(CANDIDATE)
    built = made.build(CANDIDATE).build
    assert (built.cached, built.seconds) == (False, 30.0)
    made.prepare(CANDIDATE)
    assert made.build(CANDIDATE).build == built
    assert compiler.calls == 1


def test_a_failure_is_compiled_once_for_an_evaluation_and_again_for_the_next(
    tmp_path: Path,
) -> None:
    compiler = Counting(tmp_path, failure=CompileTimedOut("did not finish", seconds=240.0))
    made = builder(compiler, tmp_path)
    made.prepare(CANDIDATE)
    with pytest.raises(Failed, match="did not finish"):
        made.build(CANDIDATE)
    assert compiler.calls == 1
    compiler.failure = None
    made.prepare(CANDIDATE)
    assert made.build(CANDIDATE).source.is_file()


@pytest.mark.parametrize("kernel", [None, source()])
def test_without_nvcc_a_task_about_host_code_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, kernel: str | None
) -> None:
    monkeypatch.setattr(evaluator, "nvcc_problem", lambda: "host candidates need nvcc: install it")
    task = problem_task(PROBLEM, Path("columns.py"), Policy(), "host", kernel=kernel)
    told: list[Any] = []
    with pytest.raises(InputError, match="need nvcc") as caught:
        evaluator.HostEvaluator(task, device="cpu", on_progress=told.append)
    assert caught.value.exit_code == 2
    assert told == []
