"""The kernels for KernelBench problems: a proposer would take each, and what they launch exists."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

from codegen import torch_cuda
from codegen.dialects import writing_of
from codegen.self_contained import self_contained
from experiments.benchmarks.evidence import kernelbench_checkout
from mcts.domain import KERNELBENCH
from tests.codegen.cases import ask, problem_task

FOLDER = Path(kernelbench_checkout.__file__).parents[1] / "kernels_for_comparison" / "kernelbench"
KERNELS = sorted(FOLDER.glob("*.py"))
_NAMED = re.compile(r"\bkernels\.(\w+)")

each_kernel = pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)


def test_the_folder_says_of_each_kernel_for_which_problem_it_is() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `level\d+_(\d+)\.py` \| (\d+)_\w+ \|", text, re.MULTILINE)
    assert all(number == of_problem for number, of_problem in rows)
    listed = re.findall(r"^\| `(level\d+_\d+\.py)`", text, re.MULTILINE)
    assert sorted(listed) == [path.name for path in KERNELS]
    assert len(rows) == len(KERNELS) >= 10


@each_kernel
def test_a_reply_that_holds_it_is_taken_as_it_stands(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    request = ask(problem_task(), parent=problem_task().baseline)
    reply = f"## Analysis\n\nNone.\n\n## Code\n\n```python\n{source}```\n"
    assert writing_of(KERNELBENCH).read(reply, request).candidate.source == source


@each_kernel
def test_its_export_needs_nothing_of_ours(path: Path) -> None:
    exported = ast.parse(self_contained(path.read_text(encoding="utf-8")))
    imports = [node for node in exported.body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert "torch" in modules and modules <= {"torch", "math"}


@pytest.mark.nvrtc
@each_kernel
def test_its_device_code_compiles_and_has_every_kernel_that_it_launches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PyTorch: what stands at the top level of a file needs its names alone."""
    try:
        torch_cuda._nvrtc()
    except torch_cuda.CudaCompileError as error:
        pytest.skip(str(error))
    torch, nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
    monkeypatch.setattr(nn, "Module", object, raising=False)
    monkeypatch.setattr(torch, "nn", nn, raising=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.nn", nn)
    monkeypatch.setenv("ROOFTREE_CUDA_ARCH", "9.0")
    kernels = runpy.run_path(str(path))["kernels"]
    names = set(_NAMED.findall(path.read_text(encoding="utf-8")))
    assert names
    for name in names:
        assert kernels[name]._image.cubin.startswith(b"\x7fELF"), name
