"""A compiler reads any file that it is told to, so a candidate may name CUDA's headers only."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from profilers.compiling.compiler import CompileFailed, Compiler
from profilers.compiling.includes import forbidden_include

KERNEL = '\nextern "C" __global__ void k(float* x) { x[0] = 1; }\n'
SPELLINGS = (
    '#include "{file}"',
    "#include <{file}>",
    "#include <../../../../../../../../..{file}>",
    '#include "cccl/../../../../../../..{file}"',
    '#define FILE "{file}"\n#include FILE',
    '#define/**/FILE/**/"{file}"\n#include FILE /* none */',
    "#include <cuda/std/cstdint>\n#include _CCCL_TO_STRING({file})",
    '%:include "{file}"',
    '??=include "{file}"',
    '#inc\\\nlude "{file}"',
    '#inc\\ \t\nlude "{file}"',
    '#inc??/\nlude "{file}"',
    '/* \n */ # /* x */ include /**/ "{file}"',
    '#include /* a */ "{file}" /* b */ <cuda_fp16.h>',
    "#" + 50 * "/**/ " + 'include "{file}"',
    '#include\r"{file}"',
    '#\vinclude\f"{file}"',
    '#include_next "{file}"',
    '#import "{file}"',
    'const int a[] = {{\n#embed "{file}"\n}};',
    '#if __has_include("{file}")\n#error it is there\n#endif',
    "#if __has_include /**/ ( /**/ <{file}> )\n#error it is there\n#endif",
    '#define FILE "{file}"\n#if __has_include(FILE)\n#error it is there\n#endif',
    '#define HAS __has_include\n#if HAS("{file}")\n#error it is there\n#endif',
    '#define HAS(x) __has_include(x)\n#if HAS("{file}")\n#error it is there\n#endif',
    '#define __THRUST_HOST_SYSTEM_GATHER_HEADER "{file}"\n'
    "#include <thrust/system/detail/adl/gather.h>",
)
HONEST = (
    "#include <cuda_fp16.h>",
    "#  include <cuda/std/cstdint> // a comment",
    '#include "cuda_fp16.h"',
    "#include <cooperative_groups.h>\n#include <cuda/barrier>\n#include <mma.h>",
    "#if defined(__has_include)\n#ifdef __has_include\n#endif\n#endif",
    "#if __has_include(<cuda_fp8.h>)\n#include <cuda_fp8.h>\n#endif",
    "/* rooftree\n# include the tail in the grid, as the last block\n*/",
    "// this kernel includes nothing, and #includes no file it should not",
    '__device__ const char* text = "# of rows";',
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_foreign_file_is_refused_in_every_spelling(spelling: str) -> None:
    assert forbidden_include(spelling.format(file="/etc/passwd") + KERNEL)


@pytest.mark.parametrize("source", HONEST)
def test_cuda_headers_and_ordinary_text_pass(source: str) -> None:
    assert forbidden_include(source + KERNEL) is None


def test_a_tunable_is_a_macro_too() -> None:
    assert forbidden_include("#include FILE" + KERNEL, ["-DN=1", '-DFILE="/etc/passwd"'])
    assert forbidden_include(KERNEL, ["-D__THRUST_DEVICE_SYSTEM_SORT_HEADER=<x>"])
    assert forbidden_include(KERNEL, ["-DN=1", "-DTILE=Shape<1,2>"]) is None


def test_a_long_hostile_text_is_searched_in_no_time() -> None:
    for part in ("#", "#include ", "#/*", '#include "', "# /* */ ", "__has_include(", "\\ "):
        forbidden_include(part * 50_000)


@pytest.mark.nvrtc
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_compiler_never_quotes_a_foreign_file(tmp_path: Path, spelling: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET_WORD in a file\n")
    with (
        closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler,
        pytest.raises(CompileFailed) as caught,
    ):
        compiler.compile(spelling.format(file=secret) + KERNEL)
    assert "SECRET_WORD" not in caught.value.log + str(caught.value)
    assert "it is there" not in caught.value.log
    assert "include" in str(caught.value)
