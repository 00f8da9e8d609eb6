"""The compiler: cached by content, killed when it does not end, its errors kept for the repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Candidate, KernelTask
from mcts.errors import WorldError
from profilers.children.processes import Child
from profilers.compiling.building import Failed, build
from profilers.compiling.compile_worker import LOG_CAP, cap_log
from profilers.compiling.compiler import (
    CompileFailed,
    Compiler,
    CompileTimedOut,
    architecture,
)

SOURCE = 'extern "C" __global__ void fill(float* y) { y[threadIdx.x] = VALUE; }\n'
# Eight to the eighth copies of a call: far more than can be optimised within seconds.
ENDLESS = (
    "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
    'extern "C" __global__ void k(float* y) { B(B(y[threadIdx.x] += sinf(y[0]);)) }\n'
)


@pytest.fixture
def compiler(tmp_path: Path) -> Iterator[Compiler]:
    compiler = Compiler(cache_dir=tmp_path, processes=2, deadline_s=60)
    yield compiler
    compiler.close()
    compiler.close()


def test_architecture_takes_all_features_from_hopper_on() -> None:
    assert [architecture(cc) for cc in ((8, 0), (8, 9), (9, 0), (10, 3))] == [
        "sm_80", "sm_89", "sm_90a", "sm_103a",
    ]  # fmt: skip


def test_a_long_log_keeps_both_ends() -> None:
    capped = cap_log("begin" + "x" * 3 * LOG_CAP + "end")
    assert capped.startswith("begin") and capped.endswith("end")
    assert len(capped) < LOG_CAP + 100
    assert cap_log("short") == "short"


@pytest.mark.nvrtc
def test_the_same_content_is_compiled_once(compiler: Compiler, tmp_path: Path) -> None:
    first = compiler.compile(SOURCE, ["-DVALUE=1.0f"])
    again = compiler.compile(SOURCE, ["-DVALUE=1.0f"])
    other = compiler.compile(SOURCE, ["-DVALUE=2.0f"])
    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert first.cubin == again.cubin and first.sha256 == again.sha256 != other.sha256
    assert first.kernels == {"fill"}
    kept = sorted(path.suffix for path in (tmp_path / "cubin").iterdir())
    assert kept == [".cubin", ".cubin", ".log", ".log"]


@pytest.mark.nvrtc
def test_several_compilers_share_one_cache(tmp_path: Path) -> None:
    with (
        closing(Compiler(cache_dir=tmp_path, processes=1)) as one,
        closing(Compiler(cache_dir=tmp_path, processes=1)) as other,
        ThreadPoolExecutor(4) as pool,
    ):
        jobs = [
            pool.submit((one, other)[i % 2].compile, SOURCE, [f"-DVALUE={i // 2}.0f"])
            for i in range(8)
        ]
        results = [job.result() for job in jobs]
    assert len({result.cubin for result in results}) == 4
    assert all(result.cubin.read_bytes()[:4] == b"\x7fELF" for result in results)


@pytest.mark.nvrtc
def test_an_architecture_that_the_compiler_does_not_know_is_no_fault_of_the_source() -> None:
    with (
        closing(Compiler(arch="sm_999")) as compiler,
        pytest.raises(WorldError, match=r"does not know the architecture sm_999: install a newer"),
    ):
        compiler.compile(SOURCE, ["-DVALUE=1.0f"])


@pytest.mark.nvrtc
@pytest.mark.parametrize("left", [0, 100, -1])
def test_a_damaged_cubin_is_made_again(compiler: Compiler, left: int) -> None:
    made = compiler.compile(SOURCE, ["-DVALUE=1.0f"])
    whole = made.cubin.read_bytes()
    made.cubin.write_bytes(whole[:left])
    again = compiler.compile(SOURCE, ["-DVALUE=1.0f"])
    assert not again.cached and again.kernels == {"fill"}
    assert again.cubin.read_bytes() == whole


@pytest.mark.nvrtc
def test_warnings_without_end_are_no_failure(compiler: Compiler) -> None:
    warnings = "#pragma x\n" * 200_000  # a log beyond what a frame holds
    made = compiler.compile(warnings + SOURCE, ["-DVALUE=1.0f"])
    assert made.kernels == {"fill"} and len(made.log) < LOG_CAP + 100


@pytest.mark.nvrtc
def test_a_worker_returned_after_closing_is_killed(tmp_path: Path) -> None:
    compiler = Compiler(cache_dir=tmp_path, processes=1)
    child = compiler._ready(compiler._slots.get())
    compiler.close()
    assert child.alive
    compiler._give_back(child)
    assert not child.alive


def test_invalid_text_is_refused_before_a_compiler_sees_it(tmp_path: Path) -> None:
    with (
        closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler,
        pytest.raises(CompileFailed, match="no valid text"),
    ):
        compiler.compile("\udc80" + SOURCE)


@pytest.mark.nvrtc
def test_an_error_keeps_its_log_and_is_not_cached(compiler: Compiler, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(CompileFailed, match="VALUE") as caught:
            compiler.compile(SOURCE)
        assert caught.value.log.startswith("candidate.cu(1): error")
        assert "identifier" in caught.value.log
        assert "rooftree" not in caught.value.log
        assert caught.value.seconds > 0
    assert not (tmp_path / "cubin").exists()


@pytest.mark.nvrtc
def test_no_header_is_found_next_to_the_source(compiler: Compiler) -> None:
    folder = Path(compiler._scratch.name)  # where the compiler runs
    (folder / "secret.h").write_text("#define VALUE 1.0f\n")
    with pytest.raises(CompileFailed, match=r"not open source file.*secret"):
        compiler.compile('#include "secret.h"\n' + SOURCE)


@pytest.mark.nvrtc
def test_a_compile_without_end_is_killed_and_the_next_one_works(tmp_path: Path) -> None:
    with closing(Compiler(cache_dir=tmp_path, processes=1, deadline_s=1.5)) as compiler:
        with pytest.raises(CompileTimedOut, match="did not finish"):
            compiler.compile(ENDLESS)
        assert compiler.compile(SOURCE, ["-DVALUE=3.0f"]).kernels == {"fill"}


@pytest.mark.nvrtc
def test_a_candidate_is_built_for_every_workload(
    compiler: Compiler, scale_task: KernelTask
) -> None:
    built = build(scale_task, compiler, scale_task.baseline)
    assert {name: call.steps[0].grid[0] for name, call in built.calls.items()} == {
        "main": (1 << 20) // 64,
        "small": 16,
    }
    assert built.build().cubin_sha256 == built.compiled.sha256


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("changes", "status", "complaint"),
    [
        ({"statement": "y[i] = nosuch;"}, "compile_failed", "nosuch"),
        ({"kernel": "other"}, "compile_failed", "defines: scale"),
        ({"BLOCK": 100}, "compile_failed", "out of range"),
        ({"shared": '"nonsense"'}, "compile_failed", "unknown 'nonsense'"),
        ({"shared": '"0 - 4"'}, "runtime_error", "shared memory"),
    ],
)
def test_a_bad_candidate_is_evidence(
    compiler: Compiler,
    scale_task: KernelTask,
    make: Callable[..., Candidate],
    changes: dict[str, Any],
    status: str,
    complaint: str,
) -> None:
    with pytest.raises(Failed, match=complaint) as caught:
        build(scale_task, compiler, make(**changes))
    assert caught.value.status == status


@pytest.mark.nvrtc
def test_the_judges_own_kernels_compile(compiler: Compiler) -> None:
    from profilers.measuring.rates import SUPPORT_SOURCE

    found = compiler.compile(SUPPORT_SOURCE.read_text()).kernels
    assert {"rooftree_compare", "rooftree_checksum", "rooftree_flush", "rooftree_seal"} <= found


@pytest.mark.nvrtc
def test_a_kernel_that_no_workload_launches_may_be_left_out(
    compiler: Compiler, scale_task: KernelTask, make: Callable[..., Candidate]
) -> None:
    step = '[[launch]]\nkernel = "extra"\ngrid = [1]\nblock = [32]\nwhen = "BLOCK == 1024"\n*/'
    source = make().source.replace("*/", step, 1)
    candidate = make().model_copy(update={"source": source})
    assert build(scale_task, compiler, candidate).kernels == ("scale",)
    launched = candidate.model_copy(update={"tunables": {"BLOCK": 1024}})
    with pytest.raises(Failed, match="'extra'"):
        build(scale_task, compiler, launched)


@pytest.mark.nvrtc
def test_machine_code_has_a_size_at_most(tmp_path: Path) -> None:
    table = "__device__ int table[1 << 20] = {1};\n"
    source = table + 'extern "C" __global__ void k(int* y) { *y = table[*y]; }\n'
    with closing(Compiler(cache_dir=tmp_path, processes=1, cubin_cap_bytes=1 << 20)) as compiler:
        with pytest.raises(CompileFailed, match=r"takes 4\.0 MiB, more than 1\.0 MiB"):
            compiler.compile(source)
        assert compiler.compile(SOURCE, ["-DVALUE=3.0f"]).kernels == {"fill"}


@pytest.mark.nvrtc
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler:
        compiler.compile(SOURCE, ["-DVALUE=3.0f"])
        scratch = Path(compiler._scratch.name)
        moved = scratch.rename(tmp_path / "moved")
        with pytest.raises(WorldError, match=str(scratch)):
            compiler.compile(SOURCE, ["-DVALUE=4.0f"])
        moved.rename(scratch)


@pytest.mark.nvrtc
def test_a_header_that_is_lacking_is_told_with_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Child.request

    def without_headers(child: Child, message: dict[str, Any], **options: Any) -> dict[str, Any]:
        reply = request(child, message, **options)
        bare = {"includes": [], "lacking": "CUDA's headers are not there: pip install them"}
        return reply | bare if message["op"] == "hello" else reply

    monkeypatch.setattr(Child, "request", without_headers)
    with (
        closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler,
        pytest.raises(CompileFailed, match=r"open source file.*; CUDA.s headers are not there"),
    ):
        compiler.compile("#include <cuda_bf16.h>")
