"""Arguments of a plan beside the parameters of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from profilers.compiling.arguments import misfits
from profilers.compiling.calls import Argument, Step
from profilers.compiling.compile_worker import kernel_parameters
from profilers.compiling.compiler import Compiler

KNOWN = {"k": ("u64", "f32", "u32"), "one": ("b8[16]",)}
FITTING: tuple[Argument, ...] = (("buffer", "x"), ("float32", 1.0), ("int32", 3))


def said(*arguments: Argument, kernel: str = "k") -> list[str]:
    return list(misfits(Step(kernel=kernel, args=arguments), 1, KNOWN))


def test_what_fits_is_silent_and_so_is_what_is_not_known() -> None:
    assert said(*FITTING) == said(kernel="other") == []
    assert not said(FITTING[0], FITTING[1], ("uint32", 3))
    assert list(misfits(Step(memset="x"), 1, KNOWN)) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (FITTING[:2], "the kernel takes 3 parameters, the plan gives 2"),
        ((FITTING[0], ("int32", 1), FITTING[2]), "write { value = ..., type = 'float32' }"),
        ((FITTING[0], FITTING[1], ("int64", 1)), "write { value = ..., type = 'int32' }"),
        ((("int32", 1), *FITTING[1:]), "a pointer or a 64-bit integer: name a buffer, or write"),
        ((FITTING[0], ("buffer", "y"), FITTING[2]), "argument 2 is buffer 'y', the kernel takes a"),
    ],
)
def test_each_misfit_is_a_line(arguments: tuple[Argument, ...], words: str) -> None:
    (line,) = said(*arguments)
    assert line.startswith("launch 1 (k)") and words in line


def test_a_struct_cannot_be_passed() -> None:
    (line,) = said(("int64", 1), kernel="one")
    assert "a struct, which a plan cannot pass" in line


def test_parameters_are_read_from_ptx() -> None:
    ptx = """
.visible .entry scale(
	.param .u64 .ptr .global .align 4 scale_param_0,
	.param .align 8 .b8 scale_param_1[24],
	.param .f64 scale_param_2
)
{ ret; }
.visible .entry nothing()
{ ret; }
.func helper(.param .b32 x) { ret; }
"""
    assert kernel_parameters(ptx) == {"scale": ["u64", "b8[24]", "f64"], "nothing": []}


@pytest.mark.nvrtc
def test_a_compiled_kernel_knows_its_parameters_also_from_the_cache(tmp_path: Path) -> None:
    source = (
        'struct P { float a; int b[3]; };\nextern "C" __global__ void k(const float* x, P p, '
        "float a, double b, unsigned n, long long m, bool f) {}\n"
    )
    compiler = Compiler(cache_dir=tmp_path, processes=1)
    try:
        made, again = compiler.compile(source), compiler.compile(source)
    finally:
        compiler.close()
    types = ("u64", "b8[16]", "f32", "f64", "u32", "u64", "u8")
    assert made.parameters == again.parameters == {"k": types} and again.cached


@pytest.mark.nvrtc
def test_a_cache_from_before_parameters_were_kept_is_still_read(tmp_path: Path) -> None:
    compiler = Compiler(cache_dir=tmp_path, processes=1)
    try:
        made = compiler.compile('extern "C" __global__ void k(float* x) {}\n')
        log = made.cubin.with_suffix(".log")
        digest, _, rest = log.read_text().partition(" ")
        log.write_text(f"{digest}\n{rest.partition(chr(10))[2]}")
        again = compiler.compile('extern "C" __global__ void k(float* x) {}\n')
    finally:
        compiler.close()
    assert again.cached and again.parameters == {}
