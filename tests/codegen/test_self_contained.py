"""Candidates that stand alone: the helper's text in place of its import, all else untouched."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from codegen import torch_cuda
from codegen.self_contained import self_contained
from mcts.errors import InputError

HELPER = Path(torch_cuda.__file__).read_text(encoding="utf-8")
CANDIDATE = '''#!/usr/bin/env python
"""A kernel, für alle."""

from __future__ import annotations

import os  # before
from codegen.torch_cuda import compile_cuda, CudaCompileError as Failed
import sys

SOURCE = r"""
__global__ void k() { /* \\n 'quotes' */ }
"""


class ModelNew:
    kernels = staticmethod(compile_cuda)
    failed = Failed
'''


def run_alone(source: str, tmp_path: Path, then: str = "") -> str:
    """What `source`, then `then`, prints where Rooftree cannot be imported."""
    path = tmp_path / "alone.py"
    path.write_bytes((source + "\n" + then).encode())
    code = (
        "import sys, runpy\n"
        "class No:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('codegen', 'mcts'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, No())\n"
        f"runpy.run_path({str(path)!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_helper_takes_the_place_of_its_import() -> None:
    result = self_contained(CANDIDATE)
    ast.parse(result)
    before, _, after = CANDIDATE.partition(
        "from codegen.torch_cuda import compile_cuda, CudaCompileError as Failed"
    )
    assert result.startswith(before) and result.endswith(after)
    assert HELPER in result
    assert "SPDX-License-Identifier: Apache-2.0" in result


def test_doing_it_twice_changes_nothing() -> None:
    once = self_contained(CANDIDATE)
    assert self_contained(once) == once


def test_a_source_without_the_helper_is_left_alone() -> None:
    source = "import torch\nfrom . import codegen\nx = 'import codegen.torch_cuda'\n"
    assert self_contained(source) == source


def test_it_runs_without_rooftree(tmp_path: Path) -> None:
    then = "print(ModelNew.kernels.__name__, issubclass(ModelNew.failed, RuntimeError))"
    assert run_alone(self_contained(CANDIDATE), tmp_path, then) == "compile_cuda True\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("import codegen.torch_cuda as tc\n", "tc.compile_cuda"),
        ("import codegen.torch_cuda\n", "codegen.torch_cuda.compile_cuda"),
        ("from codegen import torch_cuda\n", "torch_cuda.compile_cuda"),
        ("from codegen import torch_cuda as tc\n", "tc.compile_cuda"),
        ("import os, codegen.torch_cuda as tc, sys as s\nos, s\n", "tc.compile_cuda"),
        ("x = 1; from codegen.torch_cuda import compile_cuda; y = x\n", "compile_cuda"),
        ("from codegen.torch_cuda import (\n    compile_cuda as c,  # this\n)\n", "c"),
        ("from codegen.torch_cuda import \\\n    compile_cuda\n", "compile_cuda"),
        ("def f():\n    import codegen.torch_cuda as t\n    return t.compile_cuda\n", "f()"),
        ("try: import codegen.torch_cuda as t\nexcept ImportError: raise\n", "t.compile_cuda"),
        ("é = 'ü'; import codegen.torch_cuda as tc; print(é, end='')\n", "tc.compile_cuda"),
        (
            "import functools\n@functools.cache\ndef f():\n    import codegen.torch_cuda as t\n"
            "    return t.compile_cuda\n",
            "f()",
        ),
        ("import os\r\nimport codegen.torch_cuda as tc\r\n", "tc.compile_cuda"),
    ],
)  # fmt: skip
def test_every_way_to_import_it(source: str, shown: str, tmp_path: Path) -> None:
    result = self_contained(source)
    assert run_alone(result, tmp_path, f"print({shown}.__name__)").endswith("compile_cuda\n")
    assert self_contained(result) == result
    assert result.count("\r\n") in (0, result.count("\n"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\nimport mcts.errors\n", "line 2 imports mcts.errors"),
        ("from profilers import gpu\n", "line 1 imports profilers"),
        ("from codegen import torch_cuda, llm\n", r"imports codegen\.llm"),
        ("import codegen\n", "imports codegen:"),
        ("from codegen.torch_cuda import *\n", r"not \*"),
        ("def f(:\n", "no Python: line 1"),
        ("x = '\0'\n", "no Python"),
        ("x = '\ud800'\n", "no Python"),
    ],
)
def test_what_cannot_stand_alone_is_refused(source: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        self_contained(source)


def test_the_inlined_helper_compiles(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    source = "from codegen.torch_cuda import compile_cuda\n"
    then = (
        "kernels = compile_cuda('__global__ void k(float* x) { *x = 1; }', arch='9.0')\n"
        "print(kernels.k._image.cubin[1:4])"
    )
    assert run_alone(self_contained(source), tmp_path, then) == "b'ELF'\n"
