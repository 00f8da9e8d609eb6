"""What a host candidate compiles of CUTLASS is its own, even if libraries are forbidden."""

from __future__ import annotations

import pytest

from profilers.kernelbench.judge.libraries import forbidden_library
from tests.support.host_sources import source

CUTLASS = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>"
CUB = "void cub::DeviceReduceKernel<float>"
PYTHON = "import torch\nclass ModelNew: ...\n"


@pytest.mark.parametrize("kernel", [CUTLASS, CUB, "my_gemm_128x256", "doubled"])
def test_kernels_that_a_host_candidate_compiles_are_its_own(kernel: str) -> None:
    assert forbidden_library(source(), [{"name": kernel, "us": 10.0}]) is None


@pytest.mark.parametrize("kernel", [CUTLASS, CUB])
def test_the_same_kernel_in_a_pytorch_candidate_is_a_librarys(kernel: str) -> None:
    assert forbidden_library(PYTHON, [{"name": kernel, "us": 10.0}]) is not None


@pytest.mark.parametrize(
    "kernel",
    [
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16>",
        "void at::native::vectorized_elementwise_kernel<4>",
        "ampere_sgemm_128x64_tn",
        "void cudnn::winograd_nonfused",
    ],
)
def test_kernels_of_cublas_cudnn_and_pytorch_are_never_a_candidates_own(kernel: str) -> None:
    refusal = forbidden_library(source(), [{"name": kernel, "us": 10.0}])
    assert refusal is not None
    assert refusal.cheat in ("fallback", "wraps_reference")
