"""Source lines from the compiler's line information, and what does not depend on it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcts.domain import SassFacts
from profilers.compiling import compiler as compilers
from profilers.compiling.compiler import Compiler
from profilers.sass import read_sass

pytestmark = pytest.mark.nvrtc

SOURCE = """\
__device__ float smooth(float v)
{
    return v * v + __expf(v);
}

extern "C" __global__ void k(const float* __restrict__ x, const float4* __restrict__ w,
                             double* y, int n)
{
    __shared__ float s[256];
    float spilled[64];
    for (int i = 0; i < 64; ++i)
        spilled[i * n & 63] = x[i];
    s[threadIdx.x] = smooth(x[threadIdx.x])
                   + w[threadIdx.x].y * w[threadIdx.x].x * w[threadIdx.x].z * w[threadIdx.x].w;
    __syncthreads();
    float a = s[threadIdx.x ^ 1];
    a += __shfl_xor_sync(~0u, a, 1);
    atomicAdd(&s[0], 1.0f);
    y[threadIdx.x] = a
        * 0.1
        + spilled[n & 63];
}
"""
Read = Callable[..., SassFacts]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    compiler = Compiler(cache_dir=tmp_path_factory.mktemp("cache"), processes=1)
    yield lambda source, *options, **name: read_sass(
        compiler.compile(source, options, **name).cubin
    )["k"]
    compiler.close()


def line_of(text: str) -> int:
    (line,) = [at for at, line in enumerate(SOURCE.splitlines(), 1) if text in line]
    return line


def test_each_count_says_where_it_comes_from(read: Read) -> None:
    lines = read(SOURCE).lines
    assert lines["barriers"] == (line_of("__syncthreads"),)
    assert lines["shuffles"] == (line_of("__shfl"),)
    assert lines["double_ops"] == (line_of("+ spilled"),)  # the product merged with the sum
    assert lines["special_ops"] == (line_of("__expf"),)  # in the helper, where it can be changed
    assert lines["global_loads.128"] == (line_of("w[threadIdx.x].y"),)
    assert lines["global_stores.64"] == (line_of("y[threadIdx.x] = a"),)
    assert line_of("spilled[i * n") in lines["local_stores"]
    assert lines["local_loads"] == (line_of("+ spilled"),)
    assert line_of("__shfl") not in lines.get("shared_loads.32", ())
    assert set(lines["conversion_ops"]) <= {line_of("y[threadIdx.x] = a"), line_of("+ spilled")}


def test_line_information_changes_no_instruction(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_lines = read(SOURCE)
    options = tuple(option for option in compilers.BASE_OPTIONS if option != "-lineinfo")
    assert len(options) < len(compilers.BASE_OPTIONS)
    monkeypatch.setattr(compilers, "BASE_OPTIONS", options)
    without = read(SOURCE)
    assert with_lines.lines and not without.lines
    loops = tuple(loop.model_copy(update={"line": None}) for loop in with_lines.loops)
    assert without == with_lines.model_copy(update={"lines": {}, "loops": loops})
    assert without.code_hash


def test_the_hash_is_of_the_program_not_of_its_text(read: Read) -> None:
    before = read(SOURCE)
    commented = SOURCE.replace("{\n", "{  // a comment\n\n\n", 3).replace("\n    ", "\n\t  ")
    renamed = SOURCE.replace("spilled", "kept").replace("float a ", "float value ")
    renamed = (
        renamed.replace(" a,", " value,").replace("a +=", "value +=").replace("= a", "= value")
    )
    assert commented != SOURCE != renamed
    assert read(commented).code_hash == before.code_hash
    assert read(renamed).code_hash == before.code_hash
    assert read(SOURCE, name="elsewhere.cu").code_hash == before.code_hash
    assert read(SOURCE, "-DUNUSED=1").code_hash == before.code_hash
    assert read(commented).lines != before.lines


@pytest.mark.parametrize(
    ("written", "instead"),
    [("* 0.1", "* 0.2"), ("threadIdx.x ^ 1", "threadIdx.x ^ 2"), ("i < 64", "i < 63"),
     ("__syncthreads();", ""), ("v * v", "v + v"), ("int n)", "long n)")],
)  # fmt: skip
def test_the_hash_sees_a_changed_program(read: Read, written: str, instead: str) -> None:
    assert written in SOURCE
    assert read(SOURCE.replace(written, instead)).code_hash != read(SOURCE).code_hash


def test_static_functions_do_not_bring_the_file_into_the_hash(read: Read) -> None:
    source = (
        "namespace { __device__ __noinline__ float slow(float x, int n)\n"
        "{ for (int i = 0; i < n; ++i) x = x * x + 1.0f; return x; } }\n"
        'extern "C" __global__ void k(float* y, int n) { y[0] = slow(y[0], n) + slow(y[1], 3); }\n'
    )
    assert read(source, name="a.cu").code_hash == read(source, name="quite_another.cu").code_hash


def test_equal_arguments_give_equal_bytes_wherever_they_are_compiled(tmp_path: Path) -> None:
    made = []
    for folder in ("one", "two"):
        with closing(Compiler(cache_dir=tmp_path / folder, processes=1)) as compiler:
            made.append(compiler.compile(SOURCE))
    assert made[0].cubin != made[1].cubin
    assert made[0].sha256 == made[1].sha256


def test_the_name_of_the_source_is_part_of_the_key(tmp_path: Path) -> None:
    with closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler:
        first = compiler.compile(SOURCE, name="a.cu")
        second = compiler.compile(SOURCE, name="b.cu")
    assert not second.cached
    assert b"a.cu" in first.cubin.read_bytes() and b"b.cu" in second.cubin.read_bytes()
    assert tempfile.gettempdir().encode() not in first.cubin.read_bytes()
