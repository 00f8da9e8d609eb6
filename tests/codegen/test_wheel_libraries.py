"""Libraries of NVIDIA's wheels, found by a linker and a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.wheel_libraries import wheel_options

CC = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty package `nvidia`, the only one there is."""
    package = tmp_path / "site" / "nvidia"
    package.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(package.parent)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return package


def build(wheel: Path, name: str, source: str) -> None:
    """A library of that file's name in a wheel's folder."""
    assert CC is not None
    (wheel / "lib").mkdir(parents=True)
    out = str(wheel / "lib" / name)
    command = [CC, "-shared", "-fPIC", "-xc", "-", "-o", out, f"-Wl,-soname,{name}"]
    subprocess.run(command, input=source, text=True, check=True)


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_a_wheels_library_is_linked_and_found_again(wheels: Path, tmp_path: Path) -> None:
    assert CC is not None
    build(wheels / "cudnn", "libcudnn.so.9", "int answer(void) { return 42; }")
    build(wheels / "other", "libcudnn_ops.so.9", "int answer(void) { return 1; }")
    (wheels / "cudnn" / "include").mkdir()
    (wheels / "cudnn" / "include" / "cudnn.h").write_text("int answer(void);\n")
    options, headers = wheel_options(["-lcudnn", "-lm"], links=str(tmp_path / "links"))
    assert options[:2] == ["-lcudnn", "-lm"]
    assert headers == [str(wheels / "cudnn" / "include")]
    asks = "#include <cudnn.h>\nint asked(void) { return answer(); }\n"
    mine = str(tmp_path / "mine.so")
    command = [CC, "-shared", "-fPIC", "-xc", f"-I{headers[0]}", "-", "-xnone", "-o", mine]
    subprocess.run([*command, *options], input=asks, text=True, check=True)
    assert ctypes.CDLL(mine).asked() == 42
    again, _ = wheel_options(["-lcudnn"], links=str(tmp_path / "links"))
    assert set(again) < set(options), "the link that is there stays"


def test_what_no_wheel_has_is_left_to_the_linker(wheels: Path, tmp_path: Path) -> None:
    flags = ["-lcudnn", "-O3"]
    assert wheel_options(flags, links=str(tmp_path / "links")) == (flags, [])
    assert not (tmp_path / "links").exists()
    wheels.rmdir()
    assert wheel_options(flags, links=str(tmp_path / "links")) == (flags, [])
