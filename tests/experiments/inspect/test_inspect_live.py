"""`rooftree inspect` on a real GPU: measured, kept, and replayed as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from profilers.compiling.toolchain import find_tool
from tests.support.commands import failed, json_of, rooftree
from tests.support.kernelbench_problems import linear_problem

DATA = Path(__file__).parents[2] / "data" / "inspect"
pytestmark = pytest.mark.gpu
has_tools = pytest.mark.skipif(
    any(find_tool(name) is None for name in ("nvcc", "nsys", "ncu")),
    reason="needs nvcc, nsys and ncu",
)


def answer(*words: object) -> dict[str, Any]:
    return json_of("inspect", *words)


def test_a_kernel_is_measured_kept_and_replayed(tmp_path: Path) -> None:
    kept, picture = tmp_path / "kept.json.gz", tmp_path / "roofline.svg"
    live = answer(DATA / "row_sum.cu", "--save", kept, "-o", picture)
    assert live["replayed"] is False
    assert live["time_us"] > 0
    assert live["class"] != "unknown"
    assert live["kernels"][0]["sass"]["registers"] > 0
    assert "row_sum" in picture.read_text()
    again = answer(DATA / "row_sum.cu", "--replay", kept)
    assert again["replayed"] is True
    assert again["class"] == live["class"]
    assert [one["tool"] for one in again["findings"]] == [one["tool"] for one in live["findings"]]


@pytest.mark.skipif(find_tool("ncu") is None, reason="needs ncu")
def test_reading_across_rows_is_called_uncoalesced() -> None:
    tools = [one["tool"] for one in answer(DATA / "row_sum.cu")["findings"]]
    assert "coalescing" in tools


@has_tools
def test_a_program_is_timed_and_counted() -> None:
    found = answer(DATA / "two_copies.cu", "--set", "PIECES=200", "--", "1000")
    assert found["timeline"]["kernels"] == 200
    assert found["timeline"]["copies_to_device"] == 200
    assert [one["name"] for one in found["kernels"]] == ["scale"]
    assert found["kernels"][0]["sass"]["registers"] > 0
    assert {one["level"] for one in found["findings"]} >= {"system"}


@has_tools
def test_a_program_that_fails_is_one_line() -> None:
    failed(
        rooftree("inspect", DATA / "two_copies.cu", "--", "-1"),
        "two_copies ended with status 3: cudaMalloc",
    )


@pytest.mark.skipif(find_tool("ncu") is None, reason="needs ncu")
def test_a_models_kernels_and_modules_are_told_with_their_share(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = answer(linear_problem(tmp_path))
    assert found["time_us"] > 0
    assert sum(one["share"] for one in found["kernels"]) == pytest.approx(1, abs=0.01)
    assert [one["path"] for one in found["modules"]["modules"]] == ["linear"]


@pytest.mark.skipif(find_tool("ncu") is None, reason="needs ncu")
def test_a_python_program_is_timed_and_counted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("cupti")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = answer(program, "--", "20")
    assert found["timeline"]["source"] == "cupti"
    assert found["timeline"]["kernels"] >= 60
    assert found["kernels"][0]["library"] and found["kernels"][0]["limit"] is not None


PROGRAM = """
import sys, torch
x = torch.randn(4096, 4096, device="cuda")
for _ in range(int(sys.argv[1])):
    torch.softmax(torch.relu(x @ x), dim=1)
"""
