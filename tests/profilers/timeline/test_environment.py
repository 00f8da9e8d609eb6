"""No secret of ours reaches what is profiled, nor what profilers write."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import pytest

from profilers.children.processes import allow_listed, child_environment
from profilers.compiling.calls import Call, Step
from profilers.launching.requests import ProfiledBuffer, ProfilingRequest
from profilers.timeline import collecting as timelines
from profilers.timeline.nsys import profile_program
from tests.support.tools import put_tool

REAL = Path(__file__).parents[2] / "data" / "nsys" / "three_kernels.sqlite"
NAMES = ("OPENAI_API_KEY", "NVIDIA_API_KEY", "AWS_SECRET_ACCESS_KEY", "CUDA_TOKEN", "HF_TOKEN",
         "DATABASE_URL", "LD_PRELOAD_SECRET", "GIT_ASKPASS")  # fmt: skip
PROXIES = ("HTTP_PROXY", "https_proxy", "PIP_INDEX_URL", "CUDA_DOWNLOAD_URL")

# A fake nsys that keeps everything it could have put into a report, then does its work.
NSYS = """
{ env; cat /proc/self/environ; printf '%s\\n' "$@"; } >> "@seen@/nsys-$$"
cp -rL "$PWD" "@seen@/cwd-$$" 2>/dev/null
for word in "$@"; do case "$word" in --output=*) out="${word#--output=}";; esac; done
if [ "$1" = profile ]; then
  shift; while [ "${1#-}" != "$1" ]; do shift; done
  "$@"; code=$?; echo report > "$out.nsys-rep"; exit $code
fi
cp "@real@" "$out"
"""
CHILD = """
import os, sys
from pathlib import Path
seen = Path(sys.argv[1]) / f"child-{os.getpid()}"
proc = Path("/proc/self")
seen.write_bytes((proc / "environ").read_bytes() + (proc / "cmdline").read_bytes())
Path(os.environ["TMPDIR"], "mine").write_text(str(os.environ))
"""


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """A random secret in many variables, plain and within URLs."""
    planted = secrets.token_hex(16)
    for name in NAMES:
        monkeypatch.setenv(name, planted)
    for name in PROXIES:
        monkeypatch.setenv(name, f"http://user:{planted}@proxy.example:3128")
    return planted


@pytest.fixture
def seen(tools: Path, tmp_path: Path) -> Path:
    """Where the fake nsys and the child leave what they were shown."""
    folder = tmp_path / "seen"
    folder.mkdir()
    put_tool(tools / "nsys", NSYS.replace("@seen@", str(folder)).replace("@real@", str(REAL)))
    return folder


def everything(folder: Path) -> bytes:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"\0".join([str(path).encode() + b"\0" + path.read_bytes() for path in files])


def test_the_planted_secret_would_be_found(secret: str, seen: Path, tmp_path: Path) -> None:
    """The check itself can fail: handed the whole environment, the fake nsys keeps it."""
    os.spawnve(os.P_WAIT, "/bin/sh", ["sh", "-c", "nsys export"], dict(os.environ))
    assert secret.encode() in everything(seen)


def test_no_secret_reaches_a_profiled_program(secret: str, seen: Path, tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    command = [sys.executable, str(child), str(seen)]
    work = tmp_path / "work"
    work.mkdir()
    for env in (None, child_environment(), dict(os.environ)):
        report = profile_program(command, env=env, cwd=work, timeout_s=30)
        assert report.missing == {}
    kept = everything(seen)
    assert kept.count(b"child-") == 3 and kept.count(b"nsys-") >= 6
    assert secret.encode() not in kept
    assert secret.encode() not in everything(tmp_path)


def test_no_secret_reaches_recorded_calls(
    secret: str, seen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where recording fails: here there is neither a cubin nor, mostly, a GPU."""
    monkeypatch.setattr(timelines.tempfile, "tempdir", str(tmp_path))
    request = ProfilingRequest(
        cubin=tmp_path / "none.cubin",
        call=Call(steps=(Step(kernel="k"),)),
        data=(ProfiledBuffer("x", 64, "float32", "normal"),),
        timeline=True,
    )
    for env in (None, dict(os.environ)):
        found = timelines.collect_timelines(
            {3: request}, device=0, support=tmp_path / "none.cubin", timeout_s=60, env=env
        )
        assert isinstance(found[3], str) and found[3]
        assert secret not in found[3]
    kept = everything(seen)
    assert b"profilers.timeline.target" in kept and b"spec.json" in kept
    assert secret.encode() not in kept
    assert secret.encode() not in everything(tmp_path)


def test_variables_that_a_child_needs_pass() -> None:
    needed = {
        "PATH": "/usr/bin", "HOME": "/root", "LD_LIBRARY_PATH": "/opt/lib", "LC_ALL": "C",
        "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": "1", "CUDA_HOME": "/usr/local/cuda",
        "CUDA_MODULE_LOADING": "LAZY", "NVIDIA_VISIBLE_DEVICES": "all", "TMPDIR": "/tmp/x",
    }  # fmt: skip
    assert allow_listed(needed) == needed


@pytest.mark.parametrize(
    "name",
    [*NAMES, "NVIDIA_NIM_API_KEY", "NVIDIA_AUTH", "CUDA_API_KEY", "CUDA_PASSWORD", "LC_SECRET",
     "HTTP_PROXY", "http_proxy", "ALL_PROXY", "SSH_AUTH_SOCK", "LD_PRELOAD", "PIP_INDEX_URL"],
)  # fmt: skip
def test_variables_that_may_carry_a_secret_do_not_pass(name: str) -> None:
    assert allow_listed({name: "value", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "value", ["http://me:pw@host/", "https://token@host", "a socks5://x:y@h:1"]
)
def test_a_password_in_a_url_does_not_pass_under_any_name(value: str) -> None:
    assert allow_listed({"CUDA_PATH": value, "LANG": value}) == {}
    assert allow_listed({"CUDA_PATH": "http://host/a@b"}) == {"CUDA_PATH": "http://host/a@b"}


def test_children_import_what_we_import(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(timelines.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert child_environment()["PYTHONPATH"] == f"{root}{os.pathsep}/elsewhere"
    assert child_environment({"PATH": "/bin"}) == {"PATH": "/bin", "PYTHONPATH": root}
