"""Source to cubin: a pool of killable compilers in front of a content-addressed cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcts.domain import tagged_hash
from mcts.errors import RooftreeError, WorldError
from mcts.files import write_whole
from profilers.children.processes import Child, ChildGone
from profilers.compiling.compile_worker import CUBIN_CAP_BYTES
from profilers.compiling.cubin import kernel_names
from profilers.compiling.includes import forbidden_include
from profilers.hardware.locks import user_cache_dir
from profilers.sandbox import Jail

BASE_OPTIONS = ("--std=c++17", "-lineinfo", "--no-source-include")
"""Options of every compilation. Line information costs no time and changes no instruction; it lets
advice name source lines. Headers are found by name only, never next to the source."""

_START_TIMEOUT_S = 30.0


_UNKNOWN_ARCH = "nvrtc: error: invalid value for --gpu-architecture"


class UnknownArchitecture(WorldError):
    """The compiler here is too old for a GPU, or the name is none."""


class CompileFailed(RooftreeError):
    """The compiler refused the source; `log` holds its output."""

    def __init__(self, message: str, *, log: str = "", seconds: float = 0.0) -> None:
        super().__init__(message)
        self.log = log
        self.seconds = seconds


class CompileTimedOut(CompileFailed):
    """The compiler did not finish before its deadline and was killed."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A cubin on disk. `seconds` is the time of the compiler, or that of the look-up if
    `cached`. `parameters` are the types of kernels' parameters, as PTX has them; none of those that
    are not known."""

    cubin: Path
    sha256: str
    kernels: frozenset[str]
    log: str
    seconds: float
    cached: bool
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def architecture(compute_capability: tuple[int, int]) -> str:
    """The compiler target: with the `a` suffix from 9.0 on, for all of the device's features."""
    major, minor = compute_capability
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


class Compiler:
    """Compiles device code for one architecture; thread-safe, also among processes.

    Results are cached as ``<key>.cubin`` and ``<key>.log``; the key is a hash of the source and its
    name, options, architecture and compiler version. Files are written atomically; the log begins
    with the cubin's SHA-256, so that a cubin damaged later (a full disk, a power failure) is
    compiled again, and behind it the kernels' parameters as JSON. Failures are not cached.
    """

    def __init__(
        self,
        *,
        arch: str = "sm_90a",
        cache_dir: Path | None = None,
        processes: int = 4,
        deadline_s: float = 60.0,
        cubin_cap_bytes: int = CUBIN_CAP_BYTES,
    ) -> None:
        """`deadline_s` and `cubin_cap_bytes` bound one compilation, in time and in what it makes.

        WorldError where there is no place for a folder.
        """
        self.arch = arch
        self._cubin_cap_bytes = cubin_cap_bytes
        self._folder = (cache_dir or user_cache_dir()) / "cubin"
        self._deadline_s = deadline_s
        self._slots: queue.LifoQueue[Child | None] = queue.LifoQueue()
        for _ in range(max(1, processes)):
            self._slots.put(None)
        try:
            self._scratch = tempfile.TemporaryDirectory(prefix="rooftree-compile-")
        except OSError as error:
            where = tempfile.gettempdir()
            raise WorldError(f"cannot make a folder for compilers in {where}: {error}") from error
        self._lock = threading.Lock()
        self._closed = False
        self._version: str | None = None
        self._includes: tuple[str, ...] = ()
        self._lacking = ""

    @property
    def folder(self) -> Path:
        """The folder of cached cubins."""
        return self._folder

    @property
    def version(self) -> str:
        """The release of NVRTC; starts a compiler to ask it. WorldError if there is none."""
        with self._lock:
            if self._version is None:
                child = self._slots.get()
                try:
                    child = self._ready(child)
                finally:
                    self._give_back(child)
            assert self._version is not None
            return self._version

    def compile(
        self, source: str, options: Sequence[str] = (), *, name: str = "candidate.cu"
    ) -> Compiled:
        """Return the cubin of `source`.

        `name` is how the log and the line information call it. Equal arguments give equal bytes,
        wherever they are compiled.
        Raises CompileFailed with the log, CompileTimedOut, or WorldError if there is no compiler.
        """
        begin = time.perf_counter()
        _check_source(source, options)
        payload = {
            "source": source,
            "name": name,
            "options": list(options),
            "arch": self.arch,
            "compiler": self.version,
            "includes": self._includes,
            "base": BASE_OPTIONS,
        }
        key = tagged_hash("cubin", payload, digits=32)
        found = self._lookup(key, begin)
        return found or self._compile(key, source, options, name, begin)

    def close(self) -> None:
        """End the compilers, busy ones when they are returned to the pool; idempotent."""
        self._closed = True
        self._end_idle()
        self._scratch.cleanup()

    def _give_back(self, child: Child | None) -> None:
        self._slots.put(child)
        if self._closed:
            self._end_idle()

    def _end_idle(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                child = self._slots.get_nowait()
                if child is not None:
                    child.kill()

    def _lookup(self, key: str, begin: float) -> Compiled | None:
        path = self._folder / f"{key}.cubin"
        try:
            content = path.read_bytes()
            described, _, log = path.with_suffix(".log").read_text().partition("\n")
            digest, _, known = described.partition(" ")
            parameters = json.loads(known or "{}")
        except (OSError, ValueError):
            return None
        if digest != hashlib.sha256(content).hexdigest():
            return None
        seconds = time.perf_counter() - begin
        return _compiled(path, content, log, parameters, seconds, cached=True)

    def _compile(
        self, key: str, source: str, options: Sequence[str], name: str, begin: float
    ) -> Compiled:
        output = Path(self._scratch.name) / f"{key}-{threading.get_ident()}.cubin"
        request = {
            "op": "compile",
            "source": source,
            "name": name,
            "options": [
                *BASE_OPTIONS,
                f"-arch={self.arch}",
                *(f"-I{path}" for path in self._includes),
                *options,
            ],
            "output": str(output),
            "cubin_cap_bytes": self._cubin_cap_bytes,
        }
        reply = self._ask(request, begin)
        log = str(reply["log"])
        if not reply["compiled"]:
            first = next((line for line in log.splitlines() if "error" in line), log[:200])
            if first.startswith(_UNKNOWN_ARCH):
                raise UnknownArchitecture(
                    f"NVRTC does not know the architecture {self.arch}: install a newer "
                    "nvidia-cuda-nvrtc, or name another architecture"
                )
            place = re.compile(rf"^{re.escape(name)}\((\d+)\): (?:error: )?")
            told = place.sub(r"line \1: ", first.strip())
            if self._lacking and "not open source file" in told:
                told += f"; {self._lacking}"
            raise CompileFailed(
                f"does not compile: {told}", log=log, seconds=float(reply["seconds"])
            )
        try:
            content = output.read_bytes()
            output.unlink()
        except OSError as error:
            raise WorldError(
                f"machine code that was written to {output.parent} is not there: {error.strerror}"
            ) from error
        parameters = reply["parameters"]
        self._store(key, content, log, parameters)
        path = self._folder / f"{key}.cubin"
        seconds = float(reply["seconds"])
        return _compiled(path, content, log, parameters, seconds, cached=False)

    def _ask(self, request: Mapping[str, Any], begin: float) -> dict[str, Any]:
        child = self._slots.get()
        try:
            child = self._ready(child)
            reply = child.request(request, timeout_s=self._deadline_s)
        except ChildGone as gone:
            child = None
            seconds = time.perf_counter() - begin
            if gone.hung:
                raise CompileTimedOut(
                    f"the compiler did not finish within {self._deadline_s:.0f} s; "
                    "shorten templates or unrolled loops",
                    seconds=seconds,
                ) from None
            raise CompileFailed(
                f"the compiler crashed on this source or ran out of memory: {gone}",
                log=gone.output,
                seconds=seconds,
            ) from None
        finally:
            self._give_back(child)
        if not reply["ok"]:
            raise WorldError(str(reply["message"]))
        return reply

    def _ready(self, child: Child | None) -> Child:
        """A live compiler that has reported its release."""
        if child is not None:
            if child.alive:
                return child
            child.kill()  # it is dead, but its pipes are open
        scratch = Path(self._scratch.name)
        jail = Jail(gpu=False, writable=(scratch,))
        child = Child.module("profilers.compiling.compile_worker", cwd=scratch, jail=jail)
        try:
            hello = child.request({"op": "hello"}, timeout_s=_START_TIMEOUT_S)
        except ChildGone as gone:
            raise WorldError(f"the compiler process did not start: {gone} {gone.output}") from None
        if not hello["ok"]:
            child.kill()
            raise WorldError(str(hello["message"]))
        self._version = str(hello["version"])
        self._includes, self._lacking = tuple(hello["includes"]), str(hello["lacking"])
        return child

    def _store(
        self, key: str, content: bytes, log: str, parameters: Mapping[str, Sequence[str]]
    ) -> None:
        """Write log, then cubin, each by a rename: a cubin in place implies its log."""
        known = json.dumps(parameters, separators=(",", ":"))
        described = f"{hashlib.sha256(content).hexdigest()} {known}\n{log}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name, data in ((f"{key}.log", described.encode()), (f"{key}.cubin", content)):
                write_whole(self._folder / name, data, private=True)
        except OSError as error:
            raise WorldError(f"cannot write the cubin cache {self._folder}: {error}") from error


def _check_source(source: str, options: Sequence[str]) -> None:
    """Raise CompileFailed if the source must not, or cannot, be passed to a compiler."""
    if name := forbidden_include(source, options):
        raise CompileFailed(
            f"does not compile: the source includes {name[:80]}; "
            "device code may include CUDA's own headers only, by names such as <cuda_fp16.h>"
        )
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise CompileFailed(f"does not compile: the source is no valid text: {error}") from None


def _compiled(
    path: Path,
    content: bytes,
    log: str,
    parameters: Mapping[str, Sequence[str]],
    seconds: float,
    *,
    cached: bool,
) -> Compiled:
    return Compiled(
        cubin=path,
        sha256=hashlib.sha256(content).hexdigest(),
        kernels=kernel_names(content),
        log=log,
        seconds=seconds,
        cached=cached,
        parameters={name: tuple(types) for name, types in parameters.items()},
    )
