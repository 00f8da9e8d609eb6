"""Counters of PyTorch candidates on a real GPU: own kernels, a library's, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import codegen  # noqa: E402
from experiments.runs.tasks.problems import problem_task  # noqa: E402
from mcts.domain import Candidate, Policy, Profile  # noqa: E402
from mcts.domain import metrics as m  # noqa: E402
from microtools.advisor import RooflineAdvisor  # noqa: E402
from profilers import ncu  # noqa: E402
from profilers.compiling.toolchain import find_tool  # noqa: E402
from profilers.kernelbench.judge import counters  # noqa: E402
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator  # noqa: E402
from profilers.kernelbench.judge.profiling import CEILINGS  # noqa: E402
from profilers.kernelbench.judge.settings import KernelBenchSettings  # noqa: E402
from profilers.profiles.profiling import SASS, TIMELINE  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(find_tool("ncu") is None, reason="needs Nsight Compute"),
]
PROBLEM = '''import torch
from torch import nn


class Model(nn.Module):
    """y = relu(x @ w) * 2 + 1."""

    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns, columns) / columns**0.5)

    def forward(self, x):
        return torch.relu(x @ self.weight) * 2 + 1


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024]
'''
HEAD = """import torch
from torch import nn
"""
CLASS = """

class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(columns, columns))

    def forward(self, x):
        y = x @ self.weight
{body}
"""
NVRTC = (
    HEAD
    + '''from codegen.torch_cuda import compile_cuda

kernels = compile_cuda("""
extern "C" __global__ void clamp(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(y[i], 0.0f);
}
extern "C" __global__ void twice_and_one(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * y[i] + 1.0f;
}
""")
'''
    + CLASS.format(
        body="""
        n = y.numel()
        kernels.clamp[(n + 255) // 256, 256](y, n)
        kernels.twice_and_one[(n + 255) // 256, 256](y, n)
        return y"""
    )
)
TRITON = (
    HEAD
    + """import triton
import triton.language as tl


@triton.jit
def clamp_scale(y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(y + at, mask=at < n)
    tl.store(y + at, tl.maximum(value, 0.0) * 2.0 + 1.0, mask=at < n)
"""
    + CLASS.format(
        body="""
        n = y.numel()
        clamp_scale[(triton.cdiv(n, 1024),)](y, n, BLOCK=1024)
        return y"""
    )
)
EAGER = HEAD + CLASS.format(body="        return torch.relu(y) * 2 + 1")
UNDER_NCU = "sys.modules['__main__'].__spec__.name == 'profilers.kernelbench.worker.profiled'"


@pytest.fixture(scope="module")
def judge() -> Iterator[KernelBenchEvaluator]:
    judge = KernelBenchEvaluator(
        problem_task(PROBLEM, Path("relu_scale.py"), Policy(), "kernelbench"),
        settings=KernelBenchSettings(readable=tuple(map(Path, codegen.__path__))),
    )
    yield judge
    judge.close()


def profile(judge: KernelBenchEvaluator, source: str) -> Profile:
    candidate = Candidate(source=source)
    found = judge.evaluate(candidate)
    assert found.measured, found.message
    return judge.profile(candidate, found)


def check_library(found: Profile) -> None:
    """The matrix product is there, known for a library's, and was counted."""
    products = [one for one in found.kernels if one.library]
    assert products, [one.name for one in found.kernels]
    assert all(one.sass is None and (one.value(m.DURATION) or 0) > 0 for one in products)


def test_own_kernels_and_a_librarys_each_have_their_counters(judge: KernelBenchEvaluator) -> None:
    found = profile(judge, NVRTC)
    assert not {ncu.TOOL, TIMELINE, SASS, CEILINGS} & set(found.missing), found.missing
    by_name = {one.name: one for one in found.kernels}
    assert {"clamp", "twice_and_one"} <= set(by_name)
    for name in ("clamp", "twice_and_one"):
        own = by_name[name]
        assert not own.library and own.launches == 1
        assert own.value(m.GRID) == 4096 * 1024 / 256 and own.value(m.BLOCK) == 256
        assert (own.value(m.INSTRUCTIONS) or 0) > 0
        assert own.sass is not None and own.sass.instructions > 0
    check_library(found)
    assert found.hardware is not None and found.hardware.ceilings is not None
    assert found.roofline is not None and found.roofline.bound != "unknown"
    assert found.timeline is not None and found.timeline.kernels >= 9
    guidance = RooflineAdvisor().examine(work=None, profile=found, time_us=None)
    assert not [note for note in guidance.notes if "raised" in note], guidance.notes


def test_what_triton_makes_is_counted_and_read(judge: KernelBenchEvaluator) -> None:
    pytest.importorskip("triton")
    found = profile(judge, TRITON)
    (own,) = [one for one in found.kernels if one.name == "clamp_scale"]
    assert (own.value(m.DRAM_READ_BYTES) or 0) > 0, found.missing
    assert own.sass is not None, found.missing
    check_library(found)


def test_eager_pytorch_is_all_library(judge: KernelBenchEvaluator) -> None:
    found = profile(judge, EAGER)
    assert all(one.library for one in found.kernels), found.missing
    assert sum(one.launches for one in found.kernels) >= 4  # the product, relu, times 2, plus 1
    guidance = RooflineAdvisor().examine(work=None, profile=found, time_us=None)
    assert "library_kernels" in [finding.tool for finding in guidance.findings]


def test_what_hangs_under_ncu_is_stopped_and_judged_as_before(
    judge: KernelBenchEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "_START_S", 30.0)
    monkeypatch.setattr(counters, "_PER_LAUNCH_S", 0.0)
    hanging = EAGER.replace("import torch\n", "import sys, time\nimport torch\n", 1)
    hanging = hanging.replace(
        "        y = x", f"        if {UNDER_NCU}:\n            time.sleep(600)\n        y = x"
    )
    found = profile(judge, hanging)
    assert "stopped" in found.missing[ncu.TOOL]
    assert found.timeline is not None  # what was traced before stays
    assert judge.evaluate(Candidate(source=hanging)).measured


def test_files_in_place_of_the_report_change_nothing(judge: KernelBenchEvaluator) -> None:
    table = '"ID","Kernel Name","Metric Name"\n"0","perfect_kernel","x"\n'
    forging = EAGER.replace("import torch\n", "import glob, os, sys\nimport torch\n", 1)
    forging = forging.replace(
        "        y = x",
        f"""        if {UNDER_NCU}:
            parents = glob.glob(f"/proc/{{os.getppid()}}/fd/*")
            for at in ["report.csv", "/tmp/report.csv", "/dev/stdout", *parents]:
                try:
                    with open(at, "a") as file:
                        file.write({table!r})
                except OSError:
                    pass
            print({table!r}, flush=True)
        y = x""",
    )
    found = profile(judge, forging)
    assert found.kernels, found.missing
    assert "perfect_kernel" not in [one.name for one in found.kernels]
