"""An `ncu` that runs the program it is given, and prints what was recorded of another.

Like the real one it prints on its standard output, which the program inherits, and its folder holds
the files that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from profilers.compiling import toolchain

RECORDED = Path(__file__).parents[3] / "data" / "ncu" / "three_kernels.csv"
SCRIPT = """#!/bin/sh
here=$(dirname "$0")
while [ $# -gt 0 ]; do
  case "$1" in
    --csv) shift;;
    --*) shift 2;;
    *) break;;
  esac
done
{run}
"""
ONLY_PRINT = 'cat "$here/target/recorded.csv"'
THEN_PRINT = '"$@" || exit $?\ncat "$here/target/recorded.csv"'


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, run: str = THEN_PRINT) -> Path:
    """Put it on PATH; `run` is what it does with the program in ``"$@"``."""
    (folder / "target").mkdir(parents=True, exist_ok=True)
    (folder / "target" / "recorded.csv").write_bytes(RECORDED.read_bytes())
    tool = folder / "ncu"
    tool.write_text(SCRIPT.replace("{run}", run))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    toolchain.find_tool.cache_clear()
    return tool


@pytest.fixture
def ncu_folder(tmp_path: Path) -> Iterator[Path]:
    """Where a test may install it."""
    yield tmp_path / "nsight"
    toolchain.find_tool.cache_clear()
