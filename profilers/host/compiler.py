"""Source to shared object: nvcc in a jail of its own, in front of a content-addressed cache."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mcts.domain import HostPlan, SassFacts, Scalar, tagged_hash
from mcts.errors import WorldError
from profilers.children.processes import Child, ChildGone
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.compiling.includes import forbidden_include
from profilers.compiling.toolchain import find_tool
from profilers.hardware.locks import user_cache_dir
from profilers.host.entry import CANDIDATE, ENTRY, entry_source
from profilers.host.settings import HostSettings
from profilers.host.shelf import Shelf, Stored
from profilers.sandbox import Jail

LIBRARY, _DEPENDENCIES = "candidate.so", "dependencies.d"
BASE_OPTIONS = (
    "-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr",
    "--expt-extended-lambda", "-shared", "-cudart", "static",
    # A library is loaded beside PyTorch's: what both define must be its own.
    "-Xcompiler", "-fPIC,-fno-gnu-unique", "-Xlinker", "-Bsymbolic", "-Xlinker", "-z,defs",
    "-Xlinker", "--warn-unresolved-symbols", "-Xlinker", "--build-id=none",
    "-Xptxas", "-v", "-Xcudafe", "--error_limit=20",
)  # fmt: skip
"""What every compilation is told. The driver's functions are found when the library is loaded."""
_TMPFS_BYTES = 2 * 2**30
_COMPILER_PROCESSES = 256
_VERSION_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class CompiledHost:
    """A shared object in the cache. `resources`: by kernel its registers and bytes of memory;
    `sass` what its machine code shows, `sass_missing` why that is not known.

    `seconds` is how long it took to come by, next to none when `cached`.
    """

    library: Path
    log: str
    resources: dict[str, dict[str, int]]
    sass: dict[str, SassFacts]
    sass_missing: str | None
    seconds: float
    cached: bool


class HostCompiler:
    """Compiles host candidates for one architecture; thread-safe, also among processes.

    What was made is kept under a hash of all that is compiled and of what compiles it, with the
    headers that it took from the include folders: where one of those has changed it is made again.
    Failures are kept for as long as this object lives.
    """

    def __init__(
        self,
        *,
        arch: str = "sm_90a",
        settings: HostSettings | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        self.arch = arch
        self.settings = settings or HostSettings()
        self._shelf = Shelf((cache_dir or user_cache_dir()) / "host")
        self._slots = threading.Semaphore(self.settings.at_once)
        self._lock = threading.Lock()
        self._keys: dict[str, threading.Lock] = {}
        self._failures: dict[str, CompileFailed] = {}

    def compile(self, source: str, plan: HostPlan, tunables: Mapping[str, Scalar]) -> CompiledHost:
        """The shared object of `source`, with `tunables` as macros.

        Raises CompileFailed with a condensed log, CompileTimedOut, InputError for tunables that the
        plan does not know, WorldError where there is no nvcc or no disk.
        """
        begin = time.perf_counter()
        macros = plan.macros(tunables)
        _check_source(source, macros)
        entry = entry_source(plan)
        key = self._key(source, entry, macros)
        with self._lock:
            lock = self._keys.setdefault(key, threading.Lock())
        with lock:
            if failure := self._failures.get(key):
                raise failure
            if found := self._shelf.find(key):
                return _compiled(found, time.perf_counter() - begin, cached=True)
            try:
                with self._slots:
                    return self._compile(key, {CANDIDATE: source, ENTRY: entry}, macros)
            except CompileFailed as failed:
                self._failures[key] = failed
                raise

    def _key(self, source: str, entry: str, macros: Sequence[str]) -> str:
        payload = {
            "source": source,
            "entry": entry,
            "macros": list(macros),
            "arch": self.arch,
            "compilers": list(_versions(_nvcc())),
            "includes": [str(path) for path in self.settings.includes],
            "base": list(BASE_OPTIONS),
            "disassembled": all(find_tool(name) for name in ("nvdisasm", "cuobjdump")),
        }
        return tagged_hash("host", payload, digits=32)

    def _compile(self, key: str, sources: Mapping[str, str], macros: Sequence[str]) -> CompiledHost:
        try:
            with tempfile.TemporaryDirectory(prefix="rooftree-host-") as name:
                folder = Path(name).resolve()
                for file, text in sources.items():
                    (folder / file).write_text(text, encoding="utf-8")
                reply = self._ask(folder, macros)
                log, seconds = str(reply["log"]), float(reply["seconds"])
                if not reply["compiled"]:
                    first = log.partition("\n")[0]
                    raise CompileFailed(f"does not compile: {first}", log=log, seconds=seconds)
                stored = self._shelf.store(
                    key,
                    folder / LIBRARY,
                    told=reply,
                    headers=self._headers(folder),
                )
        except OSError as error:
            raise WorldError(f"no folder to compile in: {error}") from error
        return _compiled(stored, seconds, cached=False)

    def _ask(self, folder: Path, macros: Sequence[str]) -> dict[str, Any]:
        """Compile in a jail. CompileFailed where the process was lost, WorldError for a tool."""
        settings = self.settings
        jail = Jail(
            gpu=False,
            writable=(folder,),
            readable=settings.includes,
            tmpfs_bytes=_TMPFS_BYTES,
            processes=_COMPILER_PROCESSES,
            file_bytes=settings.library_bytes,
            data_bytes=settings.memory_bytes,
        )
        demangler = find_tool("cu++filt") or find_tool("c++filt")
        request: dict[str, Any] = {
            "op": "compile",
            "command": self._command(macros),
            "library": LIBRARY,
            "arch": self.arch,
            "folder": str(folder),
            "environment": {},
            "sources": [CANDIDATE, ENTRY],
            "includes": [str(path) for path in settings.includes],
            "demangler": str(demangler) if demangler else None,
        }
        begin = time.perf_counter()
        child = Child.module("profilers.host.compile_worker", cwd=folder, jail=jail)
        try:
            reply = child.request(request, timeout_s=settings.deadline_s)
        except ChildGone as gone:
            seconds = time.perf_counter() - begin
            if gone.hung:
                raise CompileTimedOut(
                    f"nvcc did not finish within {settings.deadline_s:.0f} s: a compile bomb, or "
                    "too much to instantiate",
                    seconds=seconds,
                ) from None
            text = f"nvcc crashed on this source or ran out of memory: {gone}"
            raise CompileFailed(text, log=gone.output[-2000:], seconds=seconds) from None
        finally:
            child.kill()
        if not reply["ok"]:
            raise WorldError(f"host candidates cannot be compiled: {reply['message']}")
        return reply

    def _command(self, macros: Sequence[str]) -> list[str]:
        number = self.arch.removeprefix("sm_")
        target = f"arch=compute_{number},code=sm_{number}"
        folders = [f"-I{path}" for path in self.settings.includes]
        return [
            str(_nvcc()), *BASE_OPTIONS, "-gencode", target, *macros, *folders,
            "-MD", "-MF", _DEPENDENCIES, "-o", LIBRARY, ENTRY,
        ]  # fmt: skip

    def _headers(self, folder: Path) -> list[Path]:
        """Files below the include folders that were read, as the compiler notes them."""
        try:
            text = (folder / _DEPENDENCIES).read_text(errors="replace")
        except OSError:
            return []
        inside = self.settings.includes
        paths = (Path(word) for word in text.replace("\\\n", " ").split())
        return [path for path in paths if any(path.is_relative_to(one) for one in inside)]


def nvcc_problem() -> str | None:
    """Why host candidates cannot be compiled here; None where they can."""
    try:
        _versions(_nvcc())
    except WorldError as error:
        return str(error)
    return None


def _nvcc() -> Path:
    found = find_tool("nvcc")
    if found is None:
        raise WorldError(
            "host candidates need nvcc: install the CUDA toolkit, or put its bin folder on PATH"
        )
    return found.resolve()


@lru_cache(maxsize=4)
def _versions(nvcc: Path) -> tuple[str, ...]:
    """What nvcc and the host compiler say of themselves. WorldError where one does not run."""
    told = []
    for command in ([str(nvcc), "--version"], ["g++", "--version"]):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise WorldError(
                f"host candidates need nvcc and g++, and {command[0]} does not run: {error}"
            ) from None
        told.append(done.stdout.strip())
    return tuple(told)


def _check_source(source: str, macros: Sequence[str]) -> None:
    """CompileFailed for what must not, or cannot, reach a compiler."""
    if name := forbidden_include(source, macros):
        raise CompileFailed(
            f"does not compile: the source includes {name[:80]}; include headers of CUDA, of the "
            "standard library and of the include folders, by relative names in <> or quotes"
        )
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise CompileFailed(f"does not compile: the source is no valid text: {error}") from None


def _compiled(stored: Stored, seconds: float, *, cached: bool) -> CompiledHost:
    return CompiledHost(
        library=stored.library,
        log=stored.log,
        resources=stored.resources,
        sass=stored.sass,
        sass_missing=stored.sass_missing,
        seconds=seconds,
        cached=cached,
    )
