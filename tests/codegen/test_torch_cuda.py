"""The NVRTC helper: what it compiles and keeps, and how arguments become a kernel's parameters."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen import torch_cuda
from codegen.torch_cuda import (
    CudaCompileError,
    CudaLaunchError,
    Kernels,
    compile_cuda,
    pack,
    tensor_map,
)

ROOT = Path(__file__).parents[2]
SOURCE = """
#include <cstdint>
#include <math.h>
__constant__ float shift;
extern "C" __global__ void scale(const float* x, float* y, int64_t n, float factor)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(-INFINITY, factor * x[i] + shift);
}
template <typename T, int WIDTH> __global__ void fill(T* y) { y[threadIdx.x] = WIDTH; }
__global__ void plain(float* y) { *y = VALUE; }
"""


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ROOFTREE_CUBIN_CACHE", "ROOFTREE_CUDA_ARCH", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    torch_cuda._build.cache_clear()
    yield
    torch_cuda._build.cache_clear()


@pytest.fixture(autouse=True)
def _only_where_possible(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("nvrtc"):
        try:
            torch_cuda._nvrtc()
        except CudaCompileError as error:
            pytest.skip(str(error))
    if request.node.get_closest_marker("gpu"):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("PyTorch sees no GPU")


def compiled(value: float = 1.0, arch: str | None = "9.0") -> Kernels:
    return compile_cuda(SOURCE, (f"-DVALUE={value}f",), arch)


class Tensor:
    """What `pack` looks at in a tensor."""

    def __init__(self, address: int, device: int | None = 0) -> None:
        self.address = address
        self.is_cuda = device is not None
        self.device = "cpu" if device is None else f"cuda:{device}"
        self._index = -1 if device is None else device

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return self._index


def packed(*pairs: tuple[Any, int]) -> list[Any]:
    return pack("k", tuple(value for value, _ in pairs), [size for _, size in pairs], 0)


def test_numbers_take_the_size_of_their_parameter() -> None:
    values = packed((7, 4), (7, 8), (True, 1), (-1, 2), (0.5, 4), (0.5, 8))
    kinds = [ctypes.c_int32, ctypes.c_int64, ctypes.c_int8, ctypes.c_int16]
    assert [type(value) for value in values] == [*kinds, ctypes.c_float, ctypes.c_double]
    assert [value.value for value in values] == [7, 7, 1, -1, 0.5, 0.5]


@given(st.sampled_from([1, 2, 4, 8]), st.integers(-(2**70), 2**70))
def test_an_integer_fits_or_is_refused(size: int, number: int) -> None:
    """Signed or not: what fits keeps its bits, nothing is cut off."""
    if -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size):
        (value,) = packed((number, size))
        assert bytes(value) == (number % 2 ** (8 * size)).to_bytes(size, "little")
    else:
        with pytest.raises(CudaLaunchError, match="does not fit"):
            packed((number, size))


def test_tensors_and_none_are_pointers() -> None:
    tensor, null = packed((Tensor(0x7F00), 8), (None, 8))
    assert tensor.value == 0x7F00
    assert null.value is None


def test_ctypes_values_go_through_if_the_size_is_right() -> None:
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_int)]

    half, pair = ctypes.c_uint16(0x3C00), Pair(1.0, 2)
    assert packed((half, 2), (pair, 8)) == [half, pair]
    with pytest.raises(CudaLaunchError, match="argument 1 of k takes 4 bytes, not 8"):
        packed((pair, 4))


@pytest.mark.parametrize(
    ("value", "size", "said"),
    [
        (Tensor(1, None), 8, "lies on cpu, the launch is on cuda:0"),
        (Tensor(1, 3), 8, "lies on cuda:3, the launch is on cuda:0"),
        (Tensor(1), 4, "takes 4 bytes, not 8"),
        (0.5, 2, "takes 2 bytes, not a float"),
        ("text", 8, "takes 8 bytes, not a str"),
        (None, 4, "takes 4 bytes, not 8"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(value: Any, size: int, said: str) -> None:
    with pytest.raises(CudaLaunchError, match=f"argument 2 of k {said}"):
        packed((1, 4), (value, size))


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(CudaLaunchError, match="k takes 2 arguments, not 1"):
        pack("k", (1,), [4, 4], 0)


def test_a_grid_is_one_to_three_numbers() -> None:
    assert torch_cuda._extents(5) == (5, 1, 1)
    assert torch_cuda._extents((5, 6)) == (5, 6, 1)
    for bad in (2**31, -1, (1, 2, 3, 4), ()):
        with pytest.raises(CudaLaunchError, match="one to three numbers"):
            torch_cuda._extents(bad)


@pytest.mark.parametrize(
    ("given_", "target"),
    [
        ("9.0", "sm_90a"),
        ("sm_90a", "sm_90a"),
        ("90", "sm_90a"),
        ("8.0;8.6+PTX", "sm_86"),
        ("100", "sm_100a"),
        ("12.0a", "sm_120a"),
    ],
)
def test_architectures_in_all_spellings(given_: str, target: str) -> None:
    assert torch_cuda._architecture(given_) == target


def test_the_architecture_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOFTREE_CUDA_ARCH", "10.0")
    assert torch_cuda._architecture(None) == "sm_100a"
    assert torch_cuda._architecture("8.0") == "sm_80"


def test_without_a_gpu_the_list_of_pytorch_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CudaCompileError, match="no GPU to compile for"):
        torch_cuda._architecture(None)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0 9.0a")
    assert torch_cuda._architecture(None) == "sm_90a"


@pytest.mark.nvrtc
def test_kernels_are_found_by_name_and_by_expression() -> None:
    kernels = compiled()
    assert kernels.scale is kernels["scale"]
    assert kernels["fill<float, 4>"]._image.symbol == "_Z4fillIfLi4EEvPT_"
    assert kernels.plain._image.symbol == "_Z5plainPf"
    assert kernels.scale._image.cubin.startswith(b"\x7fELF")
    assert not hasattr(kernels, "_private")


@pytest.mark.nvrtc
def test_equal_calls_compile_once() -> None:
    assert compiled().scale._image is compiled().scale._image
    assert compiled().scale._image is not compiled(2.0).scale._image


@pytest.mark.nvrtc
def test_errors_carry_the_log() -> None:
    with pytest.raises(CudaCompileError, match="does not compile") as wrong:
        compile_cuda("__global__ void k() { nowhere(); }", arch="9.0")
    assert 'identifier "nowhere" is undefined' in wrong.value.log
    with pytest.raises(CudaCompileError, match="there is no kernel missing"):
        _ = compiled().missing
    with pytest.raises(CudaCompileError, match="arch"):
        compile_cuda("__global__ void k() {}", arch="1.0")


@pytest.mark.nvrtc
def test_a_cubin_on_disk_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOFTREE_CUBIN_CACHE", str(tmp_path / "made" / "here"))
    first = compiled()["fill<float, 4>"]._image
    kept = sorted(path.name for path in (tmp_path / "made" / "here").iterdir())
    assert len(kept) == 2 and all(name.endswith(".cubin") for name in kept)

    def no_compiler(*_: Any) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(torch_cuda, "_compile", no_compiler)
    torch_cuda._build.cache_clear()
    again = compiled()["fill<float, 4>"]._image
    assert (again.cubin, again.symbol) == (first.cubin, first.symbol)
    with pytest.raises(AssertionError, match="compiled again"):
        compiled(3.0)


@pytest.mark.nvrtc
def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROOFTREE_CUBIN_CACHE", str(tmp_path / "file" / "below"))
    assert compiled().scale


@pytest.mark.nvrtc
def test_a_launch_must_say_grid_and_block() -> None:
    for launch in (1, (1,), (1, 2, 3, 4)):
        with pytest.raises(CudaLaunchError, match=r"write scale\[grid, block\]"):
            compiled().scale[launch]  # type: ignore[index]


class PaperDriver:
    """Stands for libcuda where there is none: answers what a launch asks, and writes it down."""

    sizes = (8, 8, 8, 4)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.launch_returns = 0

    def __getattr__(self, name: str) -> Any:
        def answer(*arguments: Any) -> int:
            self.calls.append((name, *arguments))
            return 0

        return answer

    def cuFuncGetParamInfo(self, _function: Any, index: Any, _offset: Any, size: Any) -> int:
        if index.value >= len(self.sizes):
            return 1
        size._obj.value = self.sizes[index.value]
        return 0

    def cuGetErrorString(self, _code: int, text: Any) -> int:
        text._obj.value = b"invalid argument"
        return 0

    def cuLaunchKernel(self, *arguments: Any) -> int:
        kinds = (ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_float)
        places = zip(kinds, arguments[9], strict=True)
        kernel = [kind.from_address(at or 0).value for kind, at in places]
        self.calls.append(("cuLaunchKernel", *arguments[1:8], arguments[8].value, kernel))
        return self.launch_returns

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> PaperDriver:
    """A driver on paper, and as much of PyTorch as says device 1 and stream 99 are current."""
    driver = PaperDriver()
    torch = types.ModuleType("torch")
    vars(torch).update(
        cuda=types.SimpleNamespace(current_device=lambda: 1),
        _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 98 + device),
        version=types.SimpleNamespace(cuda="13.0"),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(torch_cuda, "_driver", lambda: driver)
    return driver


@pytest.mark.nvrtc
def test_a_launch_goes_to_the_current_device_and_stream(driver: PaperDriver) -> None:
    kernels = compiled()
    assert not driver.calls
    x, y = Tensor(256, 1), Tensor(512, 1)
    kernels.scale[(4, 2), 128](x, y, 1000, 2.0)
    kernels.scale[0, 128](x, y, 0, 2.0)
    kernels.scale[4, (8, 8, 2), 100_000](x, y, 1000, 0.5)
    kernels.scale[4, 128, 50_000](x, y, 1000, 0.5)
    assert driver.named("cuLaunchKernel") == [
        (4, 2, 1, 128, 1, 1, 0, 99, [256, 512, 1000, 2.0]),
        (4, 1, 1, 8, 8, 2, 100_000, 99, [256, 512, 1000, 0.5]),
        (4, 1, 1, 128, 1, 1, 50_000, 99, [256, 512, 1000, 0.5]),
    ]
    assert len(driver.named("cuModuleLoadData")) == len(driver.named("cuModuleGetFunction")) == 1
    assert [call[1:] for call in driver.named("cuFuncSetAttribute")] == [(8, 100_000)]
    assert not {name for name, *_ in driver.calls if "Synchronize" in name or "Alloc" in name}


@pytest.mark.nvrtc
def test_a_refused_launch_says_what_was_launched(driver: PaperDriver) -> None:
    driver.launch_returns = 1
    with pytest.raises(CudaLaunchError) as refused:
        compiled().scale[1, 2048](Tensor(256, 1), None, 1, 2.0)
    assert str(refused.value) == (
        "scale, grid (1, 1, 1), block (2048, 1, 1), 0 bytes shared: invalid argument "
        "(cuLaunchKernel returned 1)"
    )


def test_importing_it_does_nothing() -> None:
    code = (
        "import sys; import codegen.torch_cuda as c; assert 'torch' not in sys.modules;"
        "assert not c._nvrtc.cache_info().misses and not c._driver.cache_info().misses"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


@pytest.mark.gpu
def test_launches_on_a_gpu() -> None:
    import torch

    kernels = compiled(arch=None)
    x = torch.randn(1000, device="cuda")
    y = torch.zeros_like(x)
    kernels.scale[4, 256](x, y, x.numel(), 2.0)
    assert torch.equal(y, 2 * x)
    kernels.scale[0, 256](x, y, 0, 2.0)
    kernels["fill<float, 4>"][1, 32, 100_000](y)
    assert y[:32].eq(4).all() and not y[32:64].eq(4).all()
    with pytest.raises(CudaLaunchError, match=r"scale, grid .*block .2048"):
        kernels.scale[1, 2048](x, y, 1, 2.0)


@pytest.mark.gpu
def test_launches_follow_the_stream_and_can_be_captured() -> None:
    import torch

    kernels = compiled(arch=None)
    x, y = torch.ones(256, device="cuda"), torch.zeros(256, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        kernels.scale[1, 256](x, y, 256, 3.0)
    stream.synchronize()
    assert y.eq(3).all()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.scale[1, 256](x, y, 256, 5.0)
    assert y.eq(3).all()
    graph.replay()
    torch.cuda.synchronize()
    assert y.eq(5).all()


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "words"),
    [
        ((64, 64), (64,), 0, "box and shape have one length"),
        ((64, 64), (64, 64), 100, "swizzle is 0, 32, 64 or 128"),
        ((), (), 0, "side by side"),
    ],
)
def test_a_tensor_map_that_cannot_be_is_refused_before_the_driver_is_asked(
    shape: tuple[int, ...], box: tuple[int, ...], swizzle: int, words: str
) -> None:
    tensor = types.SimpleNamespace(
        shape=shape, dtype="torch.float16", dim=lambda: len(shape), stride=lambda axis=0: 1
    )
    with pytest.raises(CudaLaunchError, match=words):
        tensor_map(tensor, box, swizzle)


TILES = """
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void tile(const __grid_constant__ TensorMap map, float* out, int x, int y)
{
    __shared__ alignas(128) float values[8][16];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = __cvta_generic_to_shared(values), bar = __cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(bar), "r"((int)sizeof(values)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];"
                     ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(bar) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;"
                 " @!done bra again; }" ::"r"(bar) : "memory");
    out[threadIdx.x] = values[threadIdx.x / 16][threadIdx.x % 16];
}
"""


@pytest.mark.gpu
def test_a_tensor_map_brings_a_tile_and_zeros_beyond() -> None:
    import torch

    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("no Tensor Memory Accelerator")
    kernels = compile_cuda(TILES)
    x, out = torch.randn(20, 36, device="cuda"), torch.empty(8, 16, device="cuda")
    kernels.tile[1, 128](tensor_map(x, (8, 16)), out, 4, 10)
    assert torch.equal(out, x[10:18, 4:20])
    kernels.tile[1, 128](tensor_map(x[:, :20], (8, 16)), out, 12, 16)
    wanted = torch.zeros_like(out)
    wanted[:4, :8] = x[16:, 12:20]
    assert torch.equal(out, wanted)
    kernels.tile[1, 128](tensor_map(x, (8, 16), shape=(36, 20)), out, 0, 0)
    assert torch.equal(out, x.view(36, 20)[:8, :16])
    with pytest.raises(CudaLaunchError, match=r"tensor map of float32 \(20, 36\), box \(8, 300\)"):
        tensor_map(x, (8, 300))
