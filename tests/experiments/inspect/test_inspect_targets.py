"""What kind of thing a file is, told before anything is compiled or run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.inspect.building import built
from experiments.inspect.targets import has_main, identify
from mcts.errors import InputError
from profilers.compiling.toolchain import find_tool
from tests.support.commands import completed, json_of, refused, rooftree
from tests.support.host_sources import source as host_source

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("inspect/row_sum.cu", "kernel"),
        ("inspect/no_plan.cu", "kernel"),
        ("inspect/two_copies.cu", "program"),
        ("ncu/three_kernels.csv", "counters"),
        ("sass/kernels.cubin", "cubin"),
    ],
)
def test_a_file_is_known_by_name_and_content(file: str, kind: str) -> None:
    assert identify(DATA / file).kind == kind


def test_an_executable_is_known_by_its_first_bytes() -> None:
    assert identify(Path(os.path.realpath("/proc/self/exe"))).kind == "executable"


def test_host_code_is_no_device_code_and_told_who_judges_it(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(host_source())
    with pytest.raises(InputError, match=r"has a launcher.*rooftree evaluate PROBLEM .*mine\.cu"):
        identify(tmp_path / "mine.cu")


LIBRARY = """#include <cuda_runtime.h>
__global__ void twice(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}
void run(float* x, int n, cudaStream_t s) { twice<<<(n + 255) / 256, 256, 0, s>>>(x, n); }
"""


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (LIBRARY, "library"),
        (LIBRARY + "int main() {}", "program"),
        ("// called as f<<<1, 32>>>()\n__global__ void f() {}", "kernel"),
    ],
)
def test_what_launches_its_kernels_itself_is_no_device_code(
    source: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.cu").write_text(source)
    assert identify(tmp_path / "mine.cu").kind == kind
    assert identify(tmp_path / "mine.cu", planned=True).kind == "kernel"


@pytest.mark.skipif(find_tool("nvcc") is None, reason="no nvcc")
def test_a_library_is_built_and_read_but_not_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(LIBRARY)
    seen = json_of("inspect", file, "--arch", "sm_80", "--set", "FACTOR=2")
    (finding,) = seen["findings"]
    assert finding["kernel"] == "twice" and finding["lines"] == [5]
    assert seen["time_us"] is None
    said = completed("inspect", file, "--arch", "sm_80", "--set", "FACTOR=2").output
    assert "the file has no main" in said
    refused(rooftree("inspect", file, "--save", tmp_path / "kept"), "cannot be run", "--save")


def test_a_library_without_nvcc_is_told_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.cu").write_text(LIBRARY)
    monkeypatch.setattr("profilers.compiling.toolchain.find_tool", lambda _name: None)
    made = built(tmp_path / "mine.cu", {}, arch="sm_80", timeout_s=5, library=True)
    with pytest.raises(InputError, match=r"host code \(it launches.*needs nvcc"), made:
        pass


def test_a_plan_makes_a_program_device_code() -> None:
    assert identify(DATA / "inspect/two_copies.cu", planned=True).kind == "kernel"


@pytest.mark.parametrize(
    "source",
    [
        "int main() {}",
        "int\nmain (int argc, char** argv)\n{}",
        "auto main() -> int {}",
        "// a comment\nint main() {}",
        "const int a = 1'000'000; int main() {}",
        'const char* s = "/* not a comment"; int main() {} // */',
        "char q = '\"'; int main() {}",
    ],
)
def test_a_main_is_found(source: str) -> None:
    assert has_main(source)


@pytest.mark.parametrize(
    "source",
    [
        "// int main() {}",
        "/* int main() {} */",
        'const char* s = "int main() {}";',
        'const char* s = R"x(int main() {})x";',
        "int domain(); int main_loop();",
        "__global__ void remain(int main) {}",
    ],
)
def test_a_main_in_a_comment_or_a_name_is_not_found(source: str) -> None:
    assert not has_main(source)


@given(st.text(max_size=400))
def test_any_text_has_a_main_or_not(text: str) -> None:
    assert has_main(text) in (True, False)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("empty.cu", "", ("is empty",)),
        ("blank.cu", "  \n\n", ("is empty",)),
        ("notes.txt", "words", ("cannot tell", ".cu")),
        ("old.json.gz", "{}", ("--replay",)),
        ("bytes.cu", b"\xff\xfe\xff", ("not UTF-8",)),
    ],
)
def test_a_file_that_cannot_be_inspected_is_refused(
    tmp_path: Path, name: str, content: str | bytes, parts: tuple[str, ...]
) -> None:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    refused(rooftree("inspect", file), name, *parts)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path, toy_folder: Path) -> None:
    refused(rooftree("inspect", tmp_path / "none.cu"), "does not exist")
    refused(rooftree("inspect", tmp_path), "is a folder")
    refused(rooftree("inspect", toy_folder), "its kernel is", "kernel.cu")
    os.mkfifo(tmp_path / "pipe.cu")
    refused(rooftree("inspect", tmp_path / "pipe.cu"), "no regular file")


@pytest.mark.parametrize(
    ("file", "words", "part"),
    [
        ("inspect/row_sum.cu", ("--", "17"), "arguments would do nothing"),
        ("inspect/two_copies.cu", ("--task", "transpose"), "--task would do nothing"),
        ("ncu/three_kernels.csv", ("--set", "A=1"), "--set would do nothing"),
        ("ncu/three_kernels.csv", ("--replay", "x.json"), "--replay would do nothing"),
        ("sass/kernels.cubin", ("--save", "x.json"), "--save would do nothing"),
        ("inspect/row_sum.cu", ("--arch", "hopper"), "sm_90"),
        ("inspect/row_sum.cu", ("-o", "roofline.png"), "SVG"),
        ("inspect/row_sum.cu", ("-o", "/none/roofline.svg"), "is not a folder"),
        ("inspect/row_sum.cu", ("--save", "a.json", "--replay", "b.json"), "leave --replay out"),
    ],
)
def test_an_option_without_effect_is_refused(file: str, words: tuple[str, ...], part: str) -> None:
    refused(rooftree("inspect", DATA / file, *words), part)
