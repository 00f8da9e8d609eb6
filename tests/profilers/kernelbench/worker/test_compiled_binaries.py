"""Machine code that compilers have left in a candidate's folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.torch_cuda import compile_cuda
from mcts.domain import SassFacts, SassLoop
from profilers.compiling.toolchain import find_tool
from profilers.kernelbench.worker import compiled_binaries
from profilers.kernelbench.worker.compiled_binaries import binaries_below, disassemble

DATA = Path(__file__).parents[3] / "data" / "sass"

pytestmark = pytest.mark.skipif(
    find_tool("nvdisasm") is None or find_tool("cuobjdump") is None,
    reason="needs nvdisasm and cuobjdump",
)


def test_the_kernels_of_a_cubin_by_the_names_a_profiler_gives_them(tmp_path: Path) -> None:
    (tmp_path / "triton" / "abc").mkdir(parents=True)
    shutil.copy(DATA / "kernels.cubin", tmp_path / "triton" / "abc" / "kernel.cubin")
    told = disassemble({"folder": str(tmp_path), "arch": "sm_90a"})
    assert told["missing"] is None
    assert told["sass"] and all(not name.startswith("_Z") for name in told["sass"])
    assert all(facts["instructions"] > 0 for facts in told["sass"].values())


def test_only_lines_of_the_candidates_own_file_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton's lines are those of the Python file; CUDA in a string has lines of its own."""

    def read(path: Path) -> dict[str, SassFacts]:
        loop = SassLoop(depth=1, instructions=2, line=4)
        return {path.stem: SassFacts(instructions=5, lines={"barriers": (3,)}, loops=(loop,))}

    monkeypatch.setattr(compiled_binaries, "read_sass", read)
    for folder, name in (("cubins", "cuda"), ("triton", "python")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.cubin").write_bytes(b"code")
    told = disassemble({"folder": str(tmp_path), "arch": "sm_90a"})["sass"]
    assert told["python"]["lines"] == {"barriers": [3]}
    assert told["python"]["loops"][0]["line"] == 4
    assert "lines" not in told["cuda"] and "line" not in told["cuda"]["loops"][0]


@pytest.mark.nvrtc
def test_what_compile_cuda_keeps_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOFTREE_CUBIN_CACHE", str(tmp_path))
    source = """template <class T> __global__ void fill(T* y) { y[threadIdx.x] = T(1); }
    extern "C" __global__ void twice(float* y) { y[threadIdx.x] *= 2.0f; }"""
    assert compile_cuda(source, arch="9.0")["fill<float>"]
    told = disassemble({"folder": str(tmp_path), "arch": "sm_90a"})
    assert told["missing"] is None
    assert {name.rpartition(" ")[2].partition("<")[0] for name in told["sass"]} == {"fill", "twice"}


def test_unreadable_machine_code_is_a_reason(tmp_path: Path) -> None:
    empty = disassemble({"folder": str(tmp_path), "arch": "sm_90a"})
    assert empty == {
        "sass": {},
        "missing": "its compilers have left no machine code that can be read",
    }
    (tmp_path / "made_up.cubin").write_bytes(b"no machine code" * 50)
    assert "nvdisasm" in disassemble({"folder": str(tmp_path), "arch": "sm_90a"})["missing"]


def test_links_and_endless_numbers_of_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.cubin").symlink_to(DATA / "kernels.cubin")
    for number in range(40):
        (tmp_path / f"{number}.so").write_bytes(b"x" * (1 + number))
    found = binaries_below(tmp_path)
    assert len(found) == 24
    assert found[0].name == "0.so" and all(path.suffix == ".so" for path in found)
