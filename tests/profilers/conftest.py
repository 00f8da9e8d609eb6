"""Tasks and candidates small enough to be read at a glance."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcts.domain import Buffer, Candidate, Cost, KernelTask, Tolerance, Workload
from profilers.compiling import toolchain
from profilers.hardware import driver
from profilers.launching import session
from tests.profilers import emulated

PLAN = """/* rooftree
[tunables]
BLOCK = {{ values = [64, 256, 1024], default = 256 }}
[[launch]]
kernel = "{kernel}"
grid = ["ceil_div(n, BLOCK)"]
block = ["BLOCK"]
shared = {shared}
args = ["x", "y", "n"]
*/
extern "C" __global__ void scale(const float* x, float* y, int n)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ {statement} }}
}}
"""

MakeCandidate = Callable[..., Candidate]


def scale(
    statement: str = "y[i] = 2.0f * x[i];",
    *,
    kernel: str = "scale",
    shared: str = "0",
    **tunables: int,
) -> Candidate:
    source = PLAN.format(statement=statement, kernel=kernel, shared=shared)
    return Candidate(source=source, tunables={"BLOCK": 256, **tunables})


@pytest.fixture
def make() -> MakeCandidate:
    """A candidate of the task `scale`, with a statement of its own."""
    return scale


@pytest.fixture
def scale_task() -> KernelTask:
    """y = 2 x over a million elements; a small workload that is only verified."""
    return KernelTask(
        name="scale",
        baseline=scale(BLOCK=64),
        reference="def reference(x):\n    return 2 * x\n",
        buffers=(
            Buffer(name="x", role="input", shape=("n",)),
            Buffer(name="y", role="output", shape=("n",)),
        ),
        workloads=(
            Workload(name="main", shape={"n": 1 << 20}),
            Workload(name="small", shape={"n": 1000}, weight=0),
        ),
        cost=Cost(bytes="8 * n", flops="n"),
        tolerance=Tolerance(relative=1e-6, absolute=0),
    )


@pytest.fixture(scope="session")
def support(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = emulated.compile_support(tmp_path_factory.mktemp("support"))
    if library is None:
        pytest.skip("needs g++")
    return library


@pytest.fixture
def gpu(support: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> emulated.Driver:
    found = emulated.Driver(support)
    monkeypatch.setattr(driver, "_library", lambda: found)
    monkeypatch.setattr(session, "_FLUSH_BYTES", 1 << 16)
    return found


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in front of PATH, for programs that stand in for the toolkit's.

    Its parent's name is that of an installation of Nsight, which a jail shows to ncu.
    """
    folder = tmp_path / "nsight" / "target-linux-x64"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    toolchain.find_tool.cache_clear()
    yield folder
    toolchain.find_tool.cache_clear()


def has_nvrtc() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.nvrtc") is not None
    except ModuleNotFoundError:
        return False


def has_gpu() -> bool:
    from mcts.errors import RooftreeError
    from profilers.hardware.device import find_gpu

    try:
        find_gpu()
    except RooftreeError:
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    nvrtc, gpu = has_nvrtc(), None
    for item in items:
        if here not in item.path.parents:
            continue
        if item.get_closest_marker("nvrtc") and not nvrtc:
            item.add_marker(pytest.mark.skip(reason="needs the extra [cuda]"))
        if item.get_closest_marker("gpu"):
            gpu = has_gpu() if gpu is None else gpu
            if not gpu:
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU with a driver here"))
