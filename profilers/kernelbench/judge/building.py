"""A candidate's private folder, and its compilation in a jail that has no GPU.

Importing a candidate runs its compilers (`load_inline`, NVRTC). Their products stay in its folder,
where the process that runs it on the GPU finds them. What is compiled only when it is first called
is compiled there instead.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from mcts.domain import Build, Candidate
from mcts.errors import WorldError
from profilers.children.fork_server import ForkServer
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.hardware.device import Gpu
from profilers.kernelbench.judge.clients import WorkerClient
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.sandbox import Jail

_COMPILES = re.compile(r"load_inline|cpp_extension|compile_cuda|\bload\(|nvrtc", re.IGNORECASE)
_JOBS = 8
_KEPT_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A candidate's file, the folder that it may write to, and its compilers' environment.

    The candidate cannot change the file, and the judge never reads it again.
    """

    folder: Path
    source: Path
    text: str
    environment: dict[str, str]
    build: Build


Builds = dict[str, BuiltModule | Failed]
"""What became of each candidate that was built, by its id."""


class CandidateBuilder:
    """Builds candidates once each; `folder` is removed with the evaluator's scratch folder.

    Builders that are given the same `built` build a candidate once among them.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        *,
        folder: Path,
        gpu: Gpu | None,
        settings: KernelBenchSettings,
        built: Builds | None = None,
    ) -> None:
        self._fork_server = fork_server
        self._folder = folder
        self._gpu = gpu
        self._settings = settings
        self._built: Builds = {} if built is None else built

    def build(self, candidate: Candidate, deadline: VerdictDeadline = UNBOUNDED) -> BuiltModule:
        """Make the candidate's folder, and import it if that compiles. Failed with the log."""
        if candidate.id not in self._built:
            try:
                self._built[candidate.id] = self._build(candidate, deadline)
            except Failed as failed:
                self._built[candidate.id] = failed
        found = self._built[candidate.id]
        if isinstance(found, Failed):
            raise found
        return found

    def tidy(self, candidate: Candidate) -> None:
        """Remove what the candidate has written, if that is more than compilers usually leave."""
        found = self._built.get(candidate.id)
        if isinstance(found, BuiltModule) and _size(found.folder) > _KEPT_BYTES:
            shutil.rmtree(found.folder.parent, ignore_errors=True)
            del self._built[candidate.id]

    def _build(self, candidate: Candidate, deadline: VerdictDeadline) -> BuiltModule:
        folder = self._folder / candidate.id / "work"
        source = self._folder / candidate.id / "source" / "candidate.py"
        try:
            folder.mkdir(parents=True)
            source.parent.mkdir()
            source.write_text(candidate.source, encoding="utf-8")
        except OSError as error:
            raise WorldError(f"cannot write {source}: {error.strerror}") from error
        except UnicodeEncodeError as error:
            raise Failed("compile_failed", f"no valid text: {error}", build=Build()) from None
        environment = self._environment(folder)
        begin = time.perf_counter()
        log = ""
        if _COMPILES.search(candidate.source):
            log = self._import(source, folder, environment, deadline)
        built = Build(seconds=time.perf_counter() - begin, log=log)
        return BuiltModule(folder, source, candidate.source, environment, built)

    def _import(
        self, source: Path, folder: Path, environment: dict[str, str], deadline: VerdictDeadline
    ) -> str:
        """Import the candidate without a GPU; returns the end of what that printed."""
        readable = (source.parent, *self._settings.readable)
        jail = Jail(gpu=False, writable=(folder,), readable=readable)
        worker = WorkerClient(self._fork_server, jail=jail, cwd=folder, deadline=deadline)
        begin = time.perf_counter()
        try:
            reply = worker.ask(
                "build", path=str(source), environment=environment,
                timeout_s=self._settings.build_deadline_s,
            )  # fmt: skip
        except RequestRefused as refused:
            build = Build(seconds=time.perf_counter() - begin, log=str(refused))
            first = str(refused).strip().splitlines()
            raise Failed(
                "compile_failed", f"does not build: {_telling(first)}", build=build
            ) from None
        except ChildGone as gone:
            build = Build(seconds=time.perf_counter() - begin, log=gone.output)
            if gone.hung:
                text = f"importing it did not finish: {gone}; a compile bomb or an endless loop"
                raise Failed("timed_out", text, build=build) from None
            raise Failed(
                "compile_failed", f"importing it ended its process: {gone}", build=build
            ) from None
        finally:
            worker.kill()
        return str(reply.get("log", ""))

    def _environment(self, folder: Path) -> dict[str, str]:
        """Folders for the compilers' products, and the architecture, as there is no GPU to ask."""
        environment = {
            "TORCH_EXTENSIONS_DIR": str(folder / "extensions"),
            "TVM_FFI_CACHE_DIR": str(folder / "tvm-ffi"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "CUDA_CACHE_PATH": str(folder / "cuda"),
            "ROOFTREE_CUBIN_CACHE": str(folder / "cubins"),
            "MAX_JOBS": str(min(_JOBS, os.cpu_count() or 1)),
        }
        if self._settings.includes:
            environment["CPATH"] = os.pathsep.join(map(str, self._settings.includes))
        for name in ("CUDA_HOME", "CC", "CXX"):
            if name in os.environ:
                environment[name] = os.environ[name]
        if self._gpu is not None:
            major, minor = self._gpu.compute_capability
            accelerated = "a" if major >= 9 else ""
            for name in ("TORCH_CUDA_ARCH_LIST", "TVM_FFI_CUDA_ARCH_LIST"):
                environment[name] = f"{major}.{minor}{accelerated}"
            environment["ROOFTREE_CUDA_ARCH"] = f"sm_{major}{minor}{accelerated}"
        return environment


def _size(folder: Path) -> int:
    """Bytes of the files in a folder that may be changing meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118
    return total


def _telling(lines: list[str]) -> str:
    """The line of a log that says what is wrong."""
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no log"])[0].strip()[:300]
