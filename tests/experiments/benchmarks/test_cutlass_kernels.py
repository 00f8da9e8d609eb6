"""The products on CUTLASS: their plans and macros, their builds, and the contest with others.

Nothing here compiles CUTLASS, which takes a minute for each kernel, or needs a GPU;
`experiments.benchmarks.evidence.against_cublas` does both.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.cutlass_kernels import contest, expert_layers, grouped, products
from experiments.benchmarks.cutlass_kernels.building import (
    SOURCES,
    Built,
    Configuration,
    build,
    build_all,
    first_error,
    opcodes_in,
)
from experiments.benchmarks.cutlass_kernels.checking import check_elsewhere
from experiments.benchmarks.cutlass_kernels.contest import GemmProblem, Variant
from experiments.benchmarks.cutlass_kernels.expert_layers import DIRECTIONS
from experiments.benchmarks.cutlass_kernels.launching import LaunchFailed
from mcts.domain import HOST, evaluate, parse_host_plan

LAYERS = tuple(one for way in DIRECTIONS for one in expert_layers.configurations(way))
ALL = (*products.CONFIGURATIONS, *grouped.CONFIGURATIONS, *LAYERS[len(grouped.CONFIGURATIONS) :])
KERNELS = ("bf16_gemm.cu", "grouped_gemm.cu", "expert_gemm.cu")
SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 UTMALDG.3D.MULTICAST [UR8], [UR4], UR7 ;
        /*0020*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12], R24 ;
        /*0030*/              @UP0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24 ;
        /*0040*/                   STL.64 [R1], R2 ;
"""


def text_of(kernel: str) -> str:
    return (SOURCES / kernel).read_text(encoding="utf-8")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_is_a_host_candidate_whose_tunables_are_its_macros(kernel: str) -> None:
    text = text_of(kernel)
    assert HOST.recognises(text)
    plan = parse_host_plan(text)
    defaults = dict(re.findall(r"#ifndef (\w+)\n#define \1 (\d+)", text))
    for name, tunable in plan.tunables.items():
        assert str(tunable.default) == defaults[name], name
    assert set(defaults) - set(plan.tunables) <= {"STAGES", "B_LAYOUT", "WGRAD"}
    assert f"int {plan.launcher}(" in text and f"{plan.failure}()" in text


@pytest.mark.parametrize("configuration", ALL, ids=lambda one: f"{one.source} {one.name}")
def test_a_configuration_that_is_compared_is_one_that_a_search_could_reach(
    configuration: Configuration,
) -> None:
    plan = parse_host_plan(text_of(configuration.source))
    values = {**plan.space.default()}
    values |= {k: v for k, v in configuration.macros.items() if k in plan.tunables}
    for name, value in values.items():
        assert value in plan.tunables[name].values, name
    assert all(evaluate(condition, values) for condition in plan.where)


def test_names_of_configurations_tell_them_apart() -> None:
    for group in (products.CONFIGURATIONS, grouped.CONFIGURATIONS, LAYERS):
        assert len({(one.source, one.name) for one in group}) == len(group)
    one = Configuration(source="bf16_gemm.cu", stream_k=True, extra=(("B_LAYOUT", 1),))
    assert one.name == "128x256x64 2x1 stream-K B_LAYOUT=1"
    assert one.macros["STREAM_K"] == one.macros["B_LAYOUT"] == 1


def test_opcodes_are_counted_with_and_without_predicates() -> None:
    found = opcodes_in(SASS)
    assert (found["UTMALDG"], found["HGMMA"], found["STL"], found["LDL"]) == (1, 2, 1, 0)


def test_the_first_error_is_what_is_told() -> None:
    said = 'a.hpp(9): warning #20012\nx.cu(80): error: static assertion failed with "too big"\nmore'
    assert first_error(said) == 'static assertion failed with "too big"'
    assert first_error("") == "nvcc failed without a word"


def compiler(folder: Path, script: str) -> Path:
    nvcc = folder / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    nvcc.chmod(0o755)
    return nvcc


def test_a_configuration_that_does_not_fit_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """case "$*" in *STAGES=9*) echo 'k.cu(5): error: needs 300 KB' >&2; exit 1;; esac
echo 'ptxas info : Used 168 registers' >&2
case "$*" in *STAGES=4*) echo 'ptxas info : (C7515) Potential Performance Loss:' \
  'wgmma.mma_async instructions are serialized due to a call' >&2;; esac
while [ "$1" != -o ]; do shift; done; : > "$2" """
    nvcc = compiler(tmp_path, script)
    monkeypatch.setattr("experiments.benchmarks.cutlass_kernels.building.find_nvcc", lambda: nvcc)
    wanted = [Configuration(source=products.SOURCE, stages=stages) for stages in (9, 4, 3)]
    made = build_all(wanted, include=tmp_path, folder=tmp_path / "made", jobs=2)
    by_stages = {one.configuration.stages: one for one in made}
    assert by_stages[9].library is None and by_stages[9].failure == "needs 300 KB"
    assert by_stages[3].library is not None and by_stages[3].library.is_file()
    assert by_stages[3].registers == 168
    assert by_stages[4].serialised and not by_stages[3].serialised


def test_a_compiler_that_takes_too_long_is_a_failure_of_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("nvcc", 1)

    monkeypatch.setattr(subprocess, "run", late)
    one = Configuration(source=products.SOURCE)
    built = build(one, nvcc=tmp_path / "nvcc", include=tmp_path, folder=tmp_path)
    assert built.library is None and "more than" in built.failure


def test_a_library_that_cannot_be_used_takes_only_its_own_process_with_it(tmp_path: Path) -> None:
    library = tmp_path / "broken.so"
    library.write_text("no library", encoding="utf-8")
    assert check_elsewhere("product", library)["failure"]
    assert check_elsewhere("grouped", library)["failure"]
    assert check_elsewhere("gradient", library)["failure"]


class Clock:
    """Hands out set times, by what a call returns."""

    def __init__(self, times: Mapping[str, float]) -> None:
        self._times = times
        self.asked: list[tuple[set[str], int]] = []

    def times_us(
        self, calls: Mapping[str, Callable[[], Any]], *, rounds: int, warm_up: int = 2
    ) -> dict[str, list[float]]:
        self.asked.append((set(calls), rounds))
        return {name: [self._times[call()]] * rounds for name, call in calls.items()}


def variant(name: str, family: str = "") -> Variant:
    return Variant(name=name, family=family or name, call=lambda: name)


def judged(*wrong: str) -> GemmProblem:
    def failure(call: contest.Call) -> str:
        if call() == "too large":
            raise LaunchFailed("needs 300 KB")
        return "is off" if call() in wrong else ""

    return GemmProblem(name="one size", flops=2_000_000, failure=failure)


def run(
    clock: Clock, work: GemmProblem, ours: list[Variant], rivals: dict[str, list[Variant]]
) -> tuple[contest.ContestResult | None, list[str]]:
    said: list[str] = []
    found = contest.contest(
        clock,  # type: ignore[arg-type]
        work,
        ours=ours,
        rivals=rivals,
        say=said.append,
    )
    return found, said


def test_the_fastest_that_is_right_meets_the_rivals_in_a_measurement_of_its_own() -> None:
    clock = Clock({"slow": 9, "fast": 2, "wrong": 1, "cuBLAS": 3, "t1": 8, "t2": 4})
    found, said = run(
        clock,
        judged("wrong"),
        [variant("slow"), variant("wrong"), variant("too large"), variant("fast")],
        {"cuBLAS": [variant("cuBLAS")], "Triton": [variant("t1"), variant("t2")]},
    )
    assert found is not None and found.best.name == "fast"
    assert found.finals.keys() == {"fast", "cuBLAS", "Triton"}
    assert found.ratio("Triton").point == pytest.approx(2.0), "the better of Triton's two over ours"
    assert clock.asked[-1] == ({"fast", "cuBLAS", "Triton"}, contest.ROUNDS)
    assert found.wrong == {"wrong": "is off", "too large": "needs 300 KB"}
    assert any("needs 300 KB" in line for line in said)


def test_a_failure_that_a_family_shares_is_said_once() -> None:
    clock = Clock({"fine": 1})
    ours = [variant("a", "same"), variant("b", "same"), variant("fine")]
    found, said = run(clock, judged("a", "b"), ours, {})
    assert found is not None and len(found.wrong) == 2
    assert sum("is off" in line for line in said) == 1


def test_without_a_right_variant_there_is_no_finding() -> None:
    found, said = run(Clock({}), judged("a"), [variant("a")], {"r": [variant("r")]})
    assert found is None and any("none of ours" in line for line in said)


def finding() -> contest.ContestResult:
    built = Built(
        configuration=products.CONFIGURATIONS[0],
        seconds=1,
        library=Path("a.so"),
        opcodes={"HGMMA": 8, "UTMALDG": 2},
    )
    best = Variant(name="ours", family="ours", call=lambda: None, built=built)
    return contest.ContestResult(
        work="1 x 1 x 1",
        flops=10**9,
        best=best,
        finals={"ours": [10.0] * 20, "cuBLAS": [8.0] * 20},
        screened={"ours": 10.0},
        families={"ours": "ours"},
    )


def test_a_ratio_is_the_rivals_time_over_ours() -> None:
    assert finding().ratio("cuBLAS") == pytest.approx((0.8, 0.8, 0.8))
    assert finding().ours_us().point == 10.0


def test_a_row_has_the_columns_of_its_head_also_where_a_rival_is_missing() -> None:
    rivals = ("cuBLAS", "Triton")
    head, line, row = *contest.head("size", rivals), contest.row(finding(), rivals)
    assert head.count("|") == line.count("|") == row.count("|")
    assert "**0.800 (0.800-0.800)**" in row and "| 100 |" in row and "| 8 | 2 |" in row
    assert "| ours | 100 |" in contest.screening_table([finding()])


def test_without_pytorch_or_a_gpu_it_says_so_in_one_line() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "experiments.benchmarks.evidence.against_cublas"],
        capture_output=True,
        text=True,
    )
    if said.returncode == 0:
        pytest.skip("there is a Hopper GPU with PyTorch here")
    assert said.returncode == 2 and said.stderr.startswith("error: ")
    assert said.stderr.count("\n") == 1


def test_wrong_results_are_told_by_where_they_lie() -> None:
    torch = pytest.importorskip("torch")
    from experiments.benchmarks.cutlass_kernels.comparing import disagreement

    reference = torch.full((8, 16), 3.0, dtype=torch.float64)
    found = reference.bfloat16()
    assert disagreement(torch, found, reference, 64) == ""
    found[2:4, 5] = 7.0
    found[7, 15] = float("nan")
    text = disagreement(torch, found, reference, 64)
    assert text.startswith("3 of 128 elements are off (1 NaN")
    assert "rows 2-7" in text and "columns 5-15" in text and "at (2, 5), is 7" in text


@pytest.mark.parametrize("problem", ["bf16_gemm_problem", "grouped_gemm_problem"])
def test_a_problem_stands_for_itself(problem: str) -> None:
    text = (SOURCES / f"{problem}.py").read_text(encoding="utf-8")
    for name in ("class Model", "def get_inputs", "def get_init_inputs"):
        assert name in text
    assert re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE) == ["torch", "torch"]
