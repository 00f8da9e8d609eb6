"""Finding the toolkit's programs, and running them so that nothing hangs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcts.errors import WorldError
from profilers.compiling import toolchain
from profilers.compiling.toolchain import environment_with, find_tool
from profilers.sass import tools as sass_tools
from profilers.sass.tools import tool_lines


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """No tool anywhere but under the folder given, which stands for /."""
    for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "usr/bin"))
    monkeypatch.setattr(toolchain, "_wheel_folders", lambda: [tmp_path / "wheels/cu13/bin"])
    monkeypatch.setattr(toolchain, "_TOOLKITS", (str(tmp_path / "usr/local/cuda"),))
    monkeypatch.setattr(toolchain, "_NSIGHT", tmp_path / "opt/nvidia")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    find_tool.cache_clear()
    yield tmp_path
    find_tool.cache_clear()


def put(root: Path, *places: str) -> None:
    for place in places:
        tool = root / place
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)


def found(name: str, root: Path) -> str | None:
    tool = find_tool(name)
    return None if tool is None else str(tool.relative_to(root))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("cuobjdump", "usr/bin/cuobjdump"),
        ("nvcc", "usr/local/cuda/bin/nvcc"),
        ("cu++filt", "wheels/cu13/bin/cu++filt"),
        ("ncu", "usr/local/cuda/nsight-compute-2025.3.0/ncu"),
        ("ncu", "opt/nvidia/nsight-compute/2025.3.0/ncu"),
        ("nsys", "opt/nvidia/nsight-systems/2025.3.2/bin/nsys"),
        ("nsys", "opt/nvidia/nsight-systems/2025.3.2/target-linux-x64/nsys"),
        ("nsys", "opt/nvidia/nsight-compute/2025.3.0/host/target-linux-x64/nsys"),
        ("nsys", "usr/local/cuda/nsight-compute-2025.3.0/host/target-linux-x64/nsys"),
        (
            "QdstrmImporter",
            "opt/nvidia/nsight-compute/2025.3.0/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter",
        ),
        ("QdstrmImporter", "opt/nvidia/nsight-systems/2025.3.2/host-linux-x64/QdstrmImporter"),
    ],
)
def test_each_tool_where_its_package_puts_it(nowhere: Path, name: str, place: str) -> None:
    assert find_tool(name) is None
    find_tool.cache_clear()
    put(nowhere, place)
    assert found(name, nowhere) == place


def test_the_path_goes_before_all(nowhere: Path) -> None:
    put(nowhere, "usr/bin/nvcc", "wheels/cu13/bin/nvcc", "usr/local/cuda/bin/nvcc")
    assert found("nvcc", nowhere) == "usr/bin/nvcc"


def test_the_newest_release_counts_by_its_numbers(nowhere: Path) -> None:
    for release in ("2025.9.1", "2025.10.0", "2024.12.0"):
        put(nowhere, f"opt/nvidia/nsight-compute/{release}/ncu")
    assert found("ncu", nowhere) == "opt/nvidia/nsight-compute/2025.10.0/ncu"


def test_a_whole_nsys_goes_before_the_one_that_ncu_brings(nowhere: Path) -> None:
    put(
        nowhere,
        "opt/nvidia/nsight-compute/2025.3.0/host/target-linux-x64/nsys",
        "opt/nvidia/nsight-systems/2024.1.1/bin/nsys",
    )
    assert found("nsys", nowhere) == "opt/nvidia/nsight-systems/2024.1.1/bin/nsys"


def test_tools_of_another_processor_are_passed_over(nowhere: Path) -> None:
    release = "opt/nvidia/nsight-compute/2025.3.0/host"
    put(nowhere, f"{release}/target-linux-sbsa-armv8/nsys")
    assert find_tool("nsys") is None


def test_a_folder_by_that_name_is_no_tool(nowhere: Path) -> None:
    (nowhere / "usr/local/cuda/bin/nvcc").mkdir(parents=True)
    assert find_tool("nvcc") is None


def test_a_tool_finds_the_tools_it_calls() -> None:
    tools = [Path("/a/cuobjdump"), Path("/b/nvdisasm"), Path("/a/other")]
    assert environment_with(*tools, base={"PATH": "/c"})["PATH"] == "/a:/b:/c"
    assert environment_with(*tools, base={})["PATH"] == "/a:/b"


PYTHON = Path(sys.executable)


def run(script: str, **options: float | str) -> list[str]:
    return list(tool_lines(PYTHON, "-c", script, **options))  # type: ignore[arg-type]


def test_lines_as_they_are_printed() -> None:
    assert run("print('one\\ntwo')") == ["one\n", "two\n"]
    assert run("import sys; print(sys.stdin.read().upper())", given="words") == ["WORDS\n"]
    assert run(r"import sys; sys.stdout.buffer.write(b'\xff')") == ["\ufffd"]


def test_a_failure_in_the_tools_own_words() -> None:
    with pytest.raises(WorldError, match="no such cubin"):
        run("import sys; print('half'); sys.exit('fatal: no such cubin')")
    with pytest.raises(WorldError, match="the last line"):
        run("print('the last line'); raise SystemExit(3)")


def test_a_tool_that_does_not_end_is_ended() -> None:
    with pytest.raises(WorldError, match="did not end within"):
        run("import time; print('x', flush=True); time.sleep(60)", timeout_s=0.5)


def test_a_tool_that_does_not_stop_printing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass_tools, "MOST_CHARACTERS", 10_000)
    with pytest.raises(WorldError, match="prints without end"):
        run("while True: print('x' * 100)")
    with pytest.raises(WorldError, match="prints without end"):
        run("import sys\nwhile True: sys.stdout.write('x' * 100)")


def test_a_reader_that_stops_ends_the_tool() -> None:
    lines = tool_lines(PYTHON, "-c", "import time\nprint('x', flush=True)\ntime.sleep(60)")
    assert next(lines) == "x\n"
    lines.close()  # type: ignore[attr-defined]


def test_an_absent_program_is_a_world_error(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="could not be run"):
        list(tool_lines(tmp_path / "absent"))
