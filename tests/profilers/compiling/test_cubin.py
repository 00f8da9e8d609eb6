"""What a cubin says of its kernels, and which launches no GPU would take."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from profilers.compiling.calls import Step
from profilers.compiling.compiler import Compiler
from profilers.compiling.cubin import KernelNeeds, kernel_names, kernel_needs
from profilers.compiling.limits import beyond

SOURCE = """
extern "C" __global__ void __launch_bounds__(256) bounded(float* x)
{
    __shared__ float held[10000];
    held[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = held[255 - threadIdx.x];
}
extern "C" __global__ void wide(float* x)
{
    float v[200], sum = 0;
#pragma unroll
    for (int i = 0; i < 200; i++) v[i] = x[i * 32 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 200; i++) x[i * 32 + threadIdx.x] = sum += v[i] * v[199 - i];
}
"""


@pytest.mark.parametrize("content", [b"", b"not an ELF file", b"\x7fELF\x02\x01" + bytes(58)])
def test_a_file_that_is_no_cubin_has_no_kernels(content: bytes) -> None:
    assert kernel_names(content) == frozenset()
    assert kernel_needs(content) == {}


@pytest.mark.nvrtc
@pytest.mark.parametrize(("arch", "reserved"), [("sm_80", 0), ("sm_90a", 1024)])
def test_a_cubin_says_what_its_kernels_need(tmp_path: Path, arch: str, reserved: int) -> None:
    with closing(Compiler(arch=arch, cache_dir=tmp_path)) as compiler:
        content = compiler.compile(SOURCE, []).cubin.read_bytes()
    found = kernel_needs(content)
    assert set(found) == kernel_names(content) == {"bounded", "wide"}
    assert found["bounded"].shared_bytes == 40_000 + reserved
    assert (found["bounded"].most_threads, found["wide"].most_threads) == (256, None)
    assert (found["bounded"].registers or 0) < 32 and (found["wide"].registers or 0) > 200
    whole = len(content)
    for kept in range(64, whole, whole // 40):  # a file that was cut is no reason to stop
        assert isinstance(kernel_needs(content[:kept]), dict)


@pytest.mark.parametrize(
    ("needs", "threads", "shared", "arch", "told"),
    [
        (KernelNeeds(most_threads=256), 512, 0, "sm_90a", "__launch_bounds__ allows 256"),
        (KernelNeeds(registers=255), 1024, 0, "sm_90a", "a block may have 64"),
        (KernelNeeds(shared_bytes=41_024), 32, 204_800, "sm_90a", "top of 40,000 static ones"),
        (KernelNeeds(shared_bytes=40_000), 32, 140_000, "sm_80", "may have 166,912"),
    ],
)
def test_a_launch_beyond_what_a_gpu_has_is_told(
    needs: KernelNeeds, threads: int, shared: int, arch: str, told: str
) -> None:
    step = Step(kernel="k", block=(threads, 1, 1), shared=shared)
    (line,) = beyond(step, 1, {"k": needs}, arch=arch)
    assert told in line and line.startswith("launch 1 (k): ")


@pytest.mark.parametrize(
    "needs",
    [
        KernelNeeds(),
        KernelNeeds(registers=64, shared_bytes=1024, most_threads=1024),
        KernelNeeds(registers=32, shared_bytes=232_448 - 204_800 + 1024),
    ],
)
def test_a_launch_that_just_fits_is_one(needs: KernelNeeds) -> None:
    shared = 0 if needs.shared_bytes in (None, 1024) else 204_800
    step = Step(kernel="k", block=(32, 32, 1), shared=shared)
    assert list(beyond(step, 1, {"k": needs}, arch="sm_90a")) == []
    assert list(beyond(step, 1, {}, arch="sm_90a")) == []
