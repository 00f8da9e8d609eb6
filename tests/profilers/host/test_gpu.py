"""Host candidates on a real GPU: the contract, a launch that fails, and CUTLASS where it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from experiments.runs.tasks.problems import problem_task  # noqa: E402
from experiments.runs.wiring.headers import include_folders  # noqa: E402
from mcts.domain import Candidate, Policy, Profile  # noqa: E402
from mcts.domain import metrics as m  # noqa: E402
from mcts.testing.evaluators import EvaluatorContract  # noqa: E402
from profilers import ncu  # noqa: E402
from profilers.compiling.toolchain import find_tool  # noqa: E402
from profilers.host.evaluator import HostEvaluator  # noqa: E402
from profilers.host.nvcc import nvcc_problem  # noqa: E402
from profilers.host.settings import HostSettings  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(nvcc_problem() is not None, reason=str(nvcc_problem())),
]
PROBLEM = '''import torch
from torch import nn


class Model(nn.Module):
    """y = relu(x + bias), rounded to bf16."""

    def __init__(self, columns):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(columns, dtype=torch.bfloat16))

    def forward(self, x):
        return torch.relu(x + self.bias)


def get_inputs():
    return [torch.randn(4096, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return [4096]
'''
SOURCE = """/* rooftree
launcher = "bias_relu"
args = ["x", "bias", "y", "rows * cols", "cols", "stream"]
[[input]]
name = "x"
dtype = "bfloat16"
shape = ["rows", "cols"]
[[weight]]
name = "bias"
dtype = "bfloat16"
shape = ["cols"]
[[output]]
name = "y"
dtype = "bfloat16"
shape = ["rows", "cols"]
[tunables]
BLOCK = [256, 512]
*/
#include <cuda_bf16.h>

__global__ void kernel(const __nv_bfloat16* x, const __nv_bfloat16* bias, __nv_bfloat16* y,
                       long long count, int cols) {
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i < count) y[i] = __hmax(__hadd(x[i], bias[i % cols]), __float2bfloat16(0.0f));
}

extern "C" cudaError_t bias_relu(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                 __nv_bfloat16* y, long long count, int cols, cudaStream_t stream) {
  kernel<<<(count + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(x, bias, y, count, cols);
  return cudaGetLastError();
}
"""


@contextlib.contextmanager
def opened(cache: Path) -> Iterator[HostEvaluator]:
    judge = HostEvaluator(
        problem_task(PROBLEM, Path("bias_relu.py"), Policy(), "host"),
        host=HostSettings(includes=include_folders(())),
        cache_dir=cache,
    )
    yield judge
    judge.close()


@pytest.fixture(scope="class")
def contracted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostEvaluator]:
    """One of its own, because the contract closes it."""
    with opened(tmp_path_factory.mktemp("cache")) as judge:
        yield judge


class TestContract(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, contracted: HostEvaluator) -> HostEvaluator:
        return contracted

    @pytest.fixture
    def working(self) -> Candidate:
        return Candidate(source=SOURCE, tunables={"BLOCK": 512})

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {
            "compile_failed": Candidate(source=SOURCE.replace("__hmax", "__hmax_of")),
            "wrong_result": Candidate(source=SOURCE.replace("0.0f", "0.5f")),
            "runtime_error": Candidate(source=SOURCE.replace("y[i] =", "y[i + (1ll << 40)] =")),
        }


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostEvaluator]:
    with opened(tmp_path_factory.mktemp("cache")) as judge:
        yield judge


def test_a_launch_that_is_refused_is_told_though_the_launcher_says_nothing(
    judge: HostEvaluator,
) -> None:
    silent = SOURCE.replace("cudaError_t bias_relu", "void bias_relu")
    silent = silent.replace("return cudaGetLastError();", "").replace("BLOCK, 0,", "BLOCK * 9, 0,")
    found = judge.evaluate(Candidate(source=silent))
    assert found.status == "runtime_error"
    assert "CUDA: invalid" in found.message


def test_work_on_a_stream_of_its_own_is_seen(judge: HostEvaluator) -> None:
    aside = SOURCE.replace(
        "  kernel<<<", "  static cudaStream_t own;\n  if (!own) cudaStreamCreateWithFlags(&own, "
        "cudaStreamNonBlocking);\n  kernel<<<", 1,
    ).replace("BLOCK, 0, stream", "BLOCK, 0, own")  # fmt: skip
    assert not judge.evaluate(Candidate(source=aside)).measured


def check_profile(found: Profile) -> None:
    """One kernel, with what the hardware counted and what nvcc made of it."""
    if find_tool("ncu") is None:
        pytest.skip("needs Nsight Compute")
    assert ncu.TOOL not in found.missing, found.missing
    (own,) = [one for one in found.kernels if one.name == "kernel"]
    assert not own.library and own.launches == 1
    assert (own.value(m.DRAM_READ_BYTES) or 0) > 0
    assert own.sass is not None and own.sass.instructions > 0
    assert found.hardware is not None and found.hardware.ceilings is not None
    assert found.roofline is not None and found.roofline.bound != "unknown"


def test_a_launcher_has_counters(judge: HostEvaluator) -> None:
    candidate = Candidate(source=SOURCE, tunables={"BLOCK": 512})
    found = judge.profile(candidate, judge.evaluate(candidate))
    check_profile(found)
    assert found.timeline is not None and found.timeline.kernels == 3


def test_a_cute_candidate_is_compiled_and_measured(judge: HostEvaluator) -> None:
    if not include_folders(()):
        pytest.skip("no CUTLASS tree is installed")
    cute = (
        SOURCE.replace(
            "#include <cuda_bf16.h>", '#include <cuda_bf16.h>\n#include "cute/tensor.hpp"'
        )
        .replace(
            "if (i < count)",
            "auto row = cute::make_tensor(cute::make_gmem_ptr(bias), cute::make_shape(cols));\n"
            "  if (i < count)",
        )
        .replace("bias[i % cols]", "row(int(i % cols))")
    )
    found = judge.evaluate(Candidate(source=cute))
    assert found.measured, found.message
    check_profile(judge.profile(Candidate(source=cute), found))
