"""Host candidates under the judge of PyTorch candidates, on the CPU: real compiler, real jail."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from experiments.runs.tasks.problems import problem_task  # noqa: E402
from mcts.domain import Candidate, Evaluation, Policy  # noqa: E402
from mcts.errors import WorldError  # noqa: E402
from profilers import ncu  # noqa: E402
from profilers.host.evaluator import HostEvaluator  # noqa: E402
from profilers.host.nvcc import nvcc_problem  # noqa: E402
from profilers.host.settings import HostSettings  # noqa: E402
from profilers.kernelbench.judge.counters import collect_counters  # noqa: E402
from profilers.kernelbench.judge.settings import KernelBenchSettings  # noqa: E402
from profilers.kernelbench.shared.profiling_spec import ProfilingSpec  # noqa: E402
from profilers.profiles.profiling import SASS  # noqa: E402
from tests.profilers.kernelbench.judge.fake_ncu import install  # noqa: E402
from tests.support.host_sources import PROBLEM, source  # noqa: E402

pytestmark = pytest.mark.skipif(nvcc_problem() is not None, reason=str(nvcc_problem()))
# Loose clocks: what the host's scheduler does is not what is tested here.
SETTINGS = KernelBenchSettings(
    blocks=4, least_blocks=4, calls=6, call_deadline_s=4.0, load_deadline_s=8.0, unsafe=True,
    clock_slack_us=20_000.0, widest_interval=math.inf,
)  # fmt: skip
PYTORCH = PROBLEM.split("def get_inputs")[0].replace("class Model", "class ModelNew")


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostEvaluator]:
    task = problem_task(PROBLEM, Path("columns.py"), Policy(), "host")
    judge = HostEvaluator(
        task, device="cpu", settings=SETTINGS, host=HostSettings(deadline_s=60.0),
        cache_dir=tmp_path_factory.mktemp("cache"),
    )  # fmt: skip
    yield judge
    judge.close()


def verdict(judge: HostEvaluator, text: str, **tunables: int) -> Evaluation:
    return judge.evaluate(Candidate(source=text, tunables=tunables))


def test_a_launcher_that_does_the_work_is_measured(judge: HostEvaluator) -> None:
    found = verdict(judge, source(), UNROLL=2)
    assert found.status in ("measured", "suspect"), found.message  # clocks of a busy host
    assert found.verification is not None
    assert found.verification.passed
    assert found.timing is not None
    assert found.isolation is not None
    assert found.build is not None
    assert found.build.registers["doubled"] > 0
    assert not found.build.cached
    assert found.build.seconds > 0.1


def test_the_problem_takes_pytorch_candidates_as_well(judge: HostEvaluator) -> None:
    found = verdict(judge, PYTORCH)
    assert found.status in ("measured", "suspect"), found.message


def test_without_a_gpu_a_profile_holds_machine_code_and_reasons(judge: HostEvaluator) -> None:
    candidate = Candidate(source=source(), tunables={"UNROLL": 2})
    found = judge.profile(candidate, judge.evaluate(candidate))
    assert found.missing[ncu.TOOL] == "there is no GPU here"
    assert [one.name for one in found.kernels] == ["doubled"] or SASS in found.missing


def test_a_launcher_runs_under_ncu_as_it_does_before_the_judge(
    judge: HostEvaluator, tools: Path
) -> None:
    install(tools)
    place = judge._place
    built = place.builder.build(Candidate(source=source(), tunables={"UNROLL": 2}))
    problem = place.problem.path
    found = collect_counters(
        ProfilingSpec(problem=str(problem), candidate=str(built.source), device="cpu", seed=3,
             environment=built.environment),
        jail=place.jail(built, readable=(problem,)),
        cwd=built.folder,
    )  # fmt: skip
    assert [one.name for one in found.launches] == ["saxpy", "saxpy_strided", "naive_mm"]
    assert ncu.TOOL not in found.missing


def test_a_host_candidate_may_be_the_baseline(tmp_path: Path) -> None:
    task = problem_task(PROBLEM, Path("columns.py"), Policy(), kernel=source())
    judge = HostEvaluator(task, device="cpu", settings=SETTINGS, cache_dir=tmp_path)
    try:
        timing = judge.baseline_evaluation.timing
        assert timing is not None
        assert timing.baseline == "baseline"
    finally:
        judge.close()
    with pytest.raises(WorldError, match="closed"):
        judge.evaluate(Candidate(source=source(extra="int other;")))


@pytest.mark.parametrize(
    ("was", "instead", "status", "said"),
    [
        ("(v > 0 ? v : 0)", "v", "wrong_result", "elements"),
        ("+ eps", "+ eps + (j == 5)", "wrong_result", "elements"),
        ("return 0;", "return oops;", "compile_failed", '"oops" is undefined'),
        ("return 0;", "return 3;", "runtime_error", "the launcher returned 3"),
        ("return 0;", "__builtin_trap();", "runtime_error", "SIGILL"),
        ("return 0;", "for (;;) asm volatile(\"\");", "timed_out", "did not finish"),
        ("return 0;", "_exit(0);", "runtime_error", "died"),
        ("const float* x,", "float* x,", "refused", "input"),
        ('shape = ["m", "n"]\n[[workspace]]', 'shape = ["m", "n + 1"]\n[[workspace]]',
         "wrong_result", "expected float32[64, 96]"),
        ('dtype = "float32"', 'dtype = "float64"', "compile_failed", "another type"),
        ('launcher = "scale"', "launcher = 3", "compile_failed", "host plan: launch plan"),
        ('of = "inner.w"', 'of = "outer.w"', "runtime_error", "no weight 'outer.w'"),
    ],
)  # fmt: skip
def test_each_fault_has_a_verdict_of_its_own(
    judge: HostEvaluator, was: str, instead: str, status: str, said: str
) -> None:
    text = source(extra="#include <unistd.h>")
    assert was in text
    text = text.replace(was, instead, 1)
    if status == "refused":
        text = text.replace("return 0;", "x[3] = 1.0f; return 0;", 1)
    found = verdict(judge, text)
    assert found.status == status, found.message
    assert said in found.message + (found.build.log if found.build else "")


def test_work_that_is_kept_from_call_to_call_is_found(judge: HostEvaluator) -> None:
    text = source(extra="#include <vector>\n#include <cstring>\nstatic std::vector<float> kept;")
    text = text.replace(
        "  for (int i = 0; i < m; i++)",
        "  if (kept.size() == size_t(m) * n) { memcpy(y, kept.data(), bytes); return 0; }\n"
        "  for (int i = 0; i < m; i++)",
        1,
    ).replace("return 0;\n}", "kept.assign(y, y + m * n); return 0;\n}", 1)
    found = verdict(judge, text)
    assert found.status in ("wrong_result", "refused"), found.message


def test_the_jail_shows_a_launcher_no_files_of_the_users(
    judge: HostEvaluator, tmp_path: Path
) -> None:
    if judge.isolation.level == "process":
        pytest.skip(f"nothing isolates here: {judge.isolation}")
    secret = tmp_path / "secret"
    secret.write_text("4711")
    text = source(extra="#include <unistd.h>").replace(
        "return 0;\n}", f'return access("{secret}", R_OK) == 0 ? 9 : 0;\n}}', 1
    )
    assert "returned 9" not in verdict(judge, text).message
