"""What was exported, on a real GPU: right in PyTorch and as a header, as fast as reported."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.export.kernel import Origin
from profilers.compiling.toolchain import find_tool
from tests.support.commands import completed

pytestmark = pytest.mark.gpu
TASKS = ("row_softmax", "gemm_fp32", "sum_reduction", "prefix_sum")
"""One launch; tiles and split sums; a zero fill; several kernels and workspaces."""


@pytest.fixture(scope="module", params=TASKS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    words = ["optimize", request.param, "--evaluator", "gpu", "--evaluations", "6", "--seed", "3"]
    completed(*words, "--out", folder / "run")
    completed("export", folder / "run", folder / "out")
    return folder / "out"


def test_the_reproduction_confirms_the_reported_speedup(exported: Path) -> None:
    command = [sys.executable, exported / "reproduce.py", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["agrees"] is True and done.returncode == 0, verdict


def module_of(exported: Path) -> Any:
    spec = importlib.util.spec_from_file_location("model_new", exported / "model_new.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference_of(exported: Path, inputs: list[Any], names: list[str]) -> Any:
    space: dict[str, Any] = {}
    exec((exported / "task" / "reference.py").read_text(), space)
    arrays = {
        name: tensor.double().cpu().numpy() for name, tensor in zip(names, inputs, strict=True)
    }
    return space["reference"](**arrays)


def test_model_new_and_the_header_compute_what_the_task_says(
    exported: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    module = module_of(exported)
    inputs = module.get_inputs()
    output = module.ModelNew(*module.get_init_inputs())(*inputs)
    names = list(module.INPUTS)
    expected = torch.as_tensor(reference_of(exported, inputs, names))
    scale = expected.abs().max().item()
    assert (output.double().cpu() - expected).abs().max().item() <= 1e-3 * scale
    if find_tool("nvcc") is None:
        pytest.skip("no nvcc here: the header is not run")
    again = through_header(exported, tmp_path, module, inputs, torch)
    assert torch.equal(again, output) or torch.allclose(again, output, rtol=1e-4, atol=1e-4 * scale)


def through_header(exported: Path, folder: Path, module: Any, inputs: list[Any], torch: Any) -> Any:
    """The output by the exported header, built into a library and called with raw pointers."""
    header = next(exported.glob("*.cuh"))
    shape = module.shape_of([tuple(tensor.shape) for tensor in inputs])
    sizes = module.sizes(**shape)
    ((name, dtype),) = module.OUTPUTS.items()
    output = torch.zeros(sizes[name], dtype=dtype, device="cuda")
    scratch = "workspace_bytes" in header.read_text()
    values = ", ".join(f"{value}LL" for value in shape.values())
    space = f"rooftree::{header.stem}"
    pointers = ", ".join(f"at(p[{number}])" for number in range(len(inputs) + 1))
    workspace = f"void* w = nullptr; cudaMalloc(&w, {space}::workspace_bytes({values}));\n"
    (folder / "program.cu").write_text(
        f'#include "{header}"\n'
        "struct at { void* p; at(void* q) : p(q) {} "
        "template <class T> operator T*() const { return (T*)p; } };\n"
        'extern "C" int call(void** p) {\n'
        f"{workspace if scratch else ''}"
        f"int error = {space}::launch({pointers}{', w' if scratch else ''}, {values});\n"
        "return error ? error : (int)cudaDeviceSynchronize();\n}\n"
    )
    major, minor = torch.cuda.get_device_capability()
    origin = Origin(
        found="", node=0, seed=0, architecture=f"sm_{major}{minor}{'a' if major >= 9 else ''}"
    )
    command = [
        str(find_tool("nvcc")), "-std=c++17", *origin.nvcc_target.split(), "-shared",
        "-Xcompiler", "-fPIC", "program.cu", "-o", "program.so",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    addresses = [tensor.data_ptr() for tensor in inputs] + [output.data_ptr()]
    torch.cuda.synchronize()
    code = ctypes.CDLL(str(folder / "program.so")).call(
        (ctypes.c_void_p * len(addresses))(*addresses)
    )
    assert code == 0
    return output
