"""Logs of real compilers cut down to what helps: the first error, its chain, the own line."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from profilers.compiling.toolchain import find_tool
from profilers.host.compile_log import (
    CONDENSED_CAP,
    condensed_errors,
    condensed_warnings,
    shortened,
)
from profilers.host.nvcc import nvcc_problem
from profilers.host.nvcc_output import readable_name, resources

CHAINED = """\
/lib/cute/tuple.hpp(787): error: static assertion failed
      static_assert(N > tuple_size<T>::value);
      ^
          detected during:
            instantiation of "auto cute::append<N,T>(const T &) [with N=2, T=int]" at line 995 of \
/lib/cute/tensor.hpp
            instantiation of "auto cute::part(T &&) [with T=int &]" at line 1043 of \
/lib/cute/tensor.hpp
            instantiation of "auto cute::tile(T &&) [with T=int &]" at line 2 of candidate.cu

/lib/cute/tuple.hpp(788): error: no instance of function template matches
          detected during instantiation of "auto cute::tile(T &&) [with T=int &]" at line 2 of \
candidate.cu

candidate.cu(3): error: identifier "x" is undefined
candidate.cu(3): warning #177-D: variable "y" was declared but never referenced

2 errors detected in the compilation of "candidate.cu".
"""
SOURCE = {"candidate.cu": "first line\n  auto s = tile(t);\nx;\n", "rooftree_entry.cu": "call();\n"}


def test_the_first_error_keeps_its_ends_and_the_line_that_began_it() -> None:
    assert condensed_errors(CHAINED, SOURCE, ["/lib"]) == (
        "cute/tuple.hpp:787: static assertion failed\n"
        "    static_assert(N > tuple_size<T>::value);\n"
        "instantiated from:\n"
        "  auto cute::append<N,T>(const T &) at cute/tensor.hpp:995\n"
        "  ... 1 more in between\n"
        "  auto cute::tile(T &&) at candidate.cu:2\n"
        "your line: candidate.cu:2: auto s = tile(t);\n"
        "\n"
        "further errors:\n"
        '- candidate.cu:3: identifier "x" is undefined'
    )


def test_warnings_about_own_lines_and_of_ptxas_are_kept() -> None:
    log = (
        f"{CHAINED}ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
        f"instructions are serialized in the function '{'_Z' + 'n' * 3000}'\n"
        "ptxas info    : Used 168 registers, used 16 barriers\n"
        "/lib/x.hpp(3): warning #177-D: not ours\n"
    )
    assert condensed_warnings(log, SOURCE, ["/lib"]).splitlines() == [
        'warning: candidate.cu:3: variable "y" was declared but never referenced',
        "warning: ptxas: (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)",
         "ptxas: Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)"),
        ("ptxas x.ptx, line 39; error   : Unknown modifier '.instr'",
         "ptxas: Unknown modifier '.instr'"),
        ("nvcc fatal   : Unknown option '-foo'", "nvcc: Unknown option '-foo'"),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
         "nvcc: 'cicc' died due to signal 9 (Kill signal)"),
        ("x.cpp:(.text+0x21b): undefined reference to `f()'", "undefined reference to `f()'"),
        ("candidate.cu:3:5: error: 'x' was not declared in this scope",
         "candidate.cu:3: 'x' was not declared in this scope"),
        ("virtual memory exhausted: Cannot allocate memory",
         "virtual memory exhausted: Cannot allocate memory"),
    ],
)  # fmt: skip
def test_the_messages_of_each_tool_are_recognized(line: str, said: str) -> None:
    assert condensed_errors(line, SOURCE).splitlines()[0] == said


def test_template_arguments_deep_inside_are_left_out() -> None:
    text = "no match for f<A<B<C<D<E>>>, 3>>(x) and a < b, p->q " + "z" * 200
    assert shortened(text, 60).startswith("no match for f<A<B<...>, 3>>(x) and a < b")
    assert len(shortened(text, 60)) == 60
    assert shortened("short<A<B<C>>>", 60) == "short<A<B<C>>>"


@pytest.mark.parametrize(
    "log",
    [
        "", "\n" * 100_000, "x" * 3_000_000, "error: " * 300_000, "a(1): error: x\n" * 50_000,
        "(" * 200_000, "a(1): error: b\n" + "  instantiation of \"<<<<\" at line 1 of c\n" * 90_000,
        "ld: " * 200_000 + "undefined reference to f", "\x00\x1b[31m(9): error: \ud7ff",
    ],
    ids=range(9),
)  # fmt: skip
def test_no_log_is_too_long_or_too_strange(log: str) -> None:
    assert len(condensed_errors(log, SOURCE)) <= CONDENSED_CAP
    assert len(condensed_warnings(log, SOURCE)) <= CONDENSED_CAP
    resources(log)


def test_resources_are_read_by_kernel() -> None:
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'
ptxas info    : Function properties for _Z1kPf
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1gv' for 'sm_90a'
ptxas info    : Used 8 registers
"""
    assert resources(log) == {
        "_Z1kPf": {"local_bytes": 16, "registers": 168, "shared_bytes": 1024},
        "_Z1gv": {"registers": 8, "shared_bytes": 0},
    }


def test_names_that_no_tool_demangles_are_read_as_far_as_they_can() -> None:
    assert (
        readable_name("_ZN7cutlass13device_kernelINS_4gemm6kernelEEEvT_")
        == "cutlass::device_kernel"
    )
    assert readable_name("_Z1kPf") == "k"
    assert readable_name("plain") == "plain"
    assert readable_name("_ZN9999999x") == "_ZN9999999x"


@cache
def cutlass() -> Path | None:
    """An installed tree's headers."""
    from cutlass_search.index.corpus import open_corpus
    from mcts.errors import InputError

    try:
        return open_corpus().root / "include"
    except InputError:
        return None


WRONG = {
    "rank": ("auto s = local_tile(t, make_shape(Int<4>{}), make_coord(0, 0, 0));", 5),
    "atom": ("using A = TiledMMA<SM90_NO_SUCH_ATOM>;", 5),
    "divisible": ("auto d = logical_divide(make_layout(Int<6>{}), make_layout(t));", 5),
}


@pytest.mark.skipif(nvcc_problem() is not None, reason=str(nvcc_problem()))
@pytest.mark.skipif(cutlass() is None, reason="no CUTLASS tree is installed")
@pytest.mark.parametrize("name", WRONG)
def test_errors_of_cute_name_the_authors_own_line(name: str, tmp_path: Path) -> None:
    statement, line = WRONG[name]
    text = (
        '#include "cute/tensor.hpp"\nusing namespace cute;\n__global__ void k(float* a) {\n'
        "  auto t = make_tensor(make_gmem_ptr(a), make_shape(Int<8>{}, Int<16>{}));\n"
        f"  {statement}\n}}\n"
    )
    (tmp_path / "candidate.cu").write_text(text)
    headers, nvcc = cutlass(), find_tool("nvcc")
    assert headers is not None
    done = subprocess.run(
        [str(nvcc), "-std=c++17", "-arch=sm_90", f"-I{headers}", "--ptx", "candidate.cu",
         "-o", "x.ptx"], cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    log = done.stdout + done.stderr
    short = condensed_errors(log, {"candidate.cu": text}, [str(headers)])
    assert done.returncode != 0
    assert f"your line: candidate.cu:{line}: {statement}" in short
    assert len(short) < min(len(log) + 200, 2500), short
    assert str(headers) not in short.splitlines()[0]
    sys.stdout.write(f"{len(log)} characters became {len(short)}\n")
