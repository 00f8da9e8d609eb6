"""Source to shared object: nvcc in a jail, behind a content-addressed cache."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mcts.domain import HostPlan, SassFacts, Scalar, tagged_hash
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.compiling.includes import forbidden_include
from profilers.compiling.toolchain import find_tool
from profilers.hardware.locks import user_cache_dir
from profilers.host.entry import CANDIDATE, ENTRY, entry_source
from profilers.host.jailed import CompileLost, JailedCompiler, malformed_reply
from profilers.host.library_cache import MALFORMED, CachedLibrary, LibraryCache
from profilers.host.nvcc import (
    BASE_OPTIONS,
    check_folders,
    find_nvcc,
    versions,
)
from profilers.host.settings import HostSettings

_READERS = ("host/compile_log.py", "host/nvcc_output.py", "host/compile_worker.py", "sass/*.py")


@dataclass(frozen=True, slots=True)
class CompiledHost:
    """A shared object in the cache.

    `resources` are registers and bytes of memory by kernel, `sass` the facts about the machine
    code, `sass_missing` why there are none. `seconds` is how long it took, close to 0 if `cached`.
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

    Results are cached under a hash of everything that is compiled and of the tools that compile
    and read it. If a header that was read from the include folders has changed, the source is
    compiled again. Failures that are the source's own are kept as long as this object lives.
    """

    def __init__(
        self,
        *,
        arch: str = "sm_90a",
        settings: HostSettings | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        """InputError for an include folder whose name nvcc does not take."""
        self.arch = arch
        self.settings = settings or HostSettings()
        check_folders(self.settings.includes)
        self._cache = LibraryCache((cache_dir or user_cache_dir()) / "host")
        self._slots = CompileSlots(self.settings.at_once)
        self._lock = threading.Lock()
        self._keys: dict[str, threading.Lock] = {}
        self._failures: dict[str, CompileFailed] = {}
        self._jailed = JailedCompiler(arch=arch, settings=self.settings)

    def compile(self, source: str, plan: HostPlan, tunables: Mapping[str, Scalar]) -> CompiledHost:
        """The shared object of `source`, with `tunables` as macros.

        Raises CompileFailed with a condensed log, CompileTimedOut, CompileLost, InputError for
        tunables that the plan does not know, WorldError if there is no nvcc or no disk, and
        after `close`.
        """
        begin = time.perf_counter()
        macros = plan.macros(tunables)
        _check_source(source, macros)
        sources = {CANDIDATE: source, ENTRY: entry_source(plan)}
        key = self._key(sources, macros)
        with self._lock:
            lock = self._keys.setdefault(key, threading.Lock())
        with lock:
            if failure := self._failures.get(key):
                raise failure
            if found := self._cache.find(key):
                return _compiled(found, time.perf_counter() - begin, cached=True)
            try:
                return self._compile_twice(key, sources, macros)
            except (CompileTimedOut, CompileLost):
                raise
            except CompileFailed as failed:
                self._failures[key] = failed
                raise

    def close(self) -> None:
        """End the compilers at work, remove their files, and start no others; idempotent."""
        self._jailed.close()

    def _key(self, sources: Mapping[str, str], macros: Sequence[str]) -> str:
        payload = {
            "source": sources[CANDIDATE],
            "entry": sources[ENTRY],
            "macros": list(macros),
            "arch": self.arch,
            "compilers": list(versions(find_nvcc())),
            "includes": [str(path) for path in self.settings.includes],
            "base": list(BASE_OPTIONS),
            "disassembled": all(find_tool(name) for name in ("nvdisasm", "cuobjdump")),
            "readers": readers_version(),
        }
        return tagged_hash("host", payload, digits=32)

    def _compile_twice(
        self, key: str, sources: Mapping[str, str], macros: Sequence[str]
    ) -> CompiledHost:
        """If nvcc was killed, compile once more and alone: others may have taken the memory."""
        try:
            with self._slots.one():
                return self._compile(key, sources, macros)
        except CompileLost as lost:
            if not lost.killed:
                raise
        with self._slots.all():
            return self._compile(key, sources, macros)

    def _compile(self, key: str, sources: Mapping[str, str], macros: Sequence[str]) -> CompiledHost:
        made = self._jailed.make(sources, macros)
        try:
            stored = self._cache.store(key, made.library, told=made.told, headers=made.headers)
        except MALFORMED as error:
            raise malformed_reply(error, made.seconds) from None
        return _compiled(stored, made.seconds, cached=False)


class CompileSlots:
    """Bounds the compilations at a time to `count`, and lets one run alone."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = threading.Semaphore(count)
        self._alone = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait for a slot and hold it."""
        with self._free:
            yield

    @contextmanager
    def all(self) -> Iterator[None]:
        """Wait until no slot is held, and hold them all."""
        with (
            self._alone,
            ExitStack() as held,
        ):  # two threads that gather slots would wait for each other
            for _ in range(self._count):
                held.enter_context(self._free)
            yield


@cache
def readers_version() -> str:
    """A hash of our code that reads logs and machine code, because its results are cached."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for pattern in _READERS for path in root.glob(pattern))
    whole = hashlib.sha256()
    for path in files:
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _check_source(source: str, macros: Sequence[str]) -> None:
    """CompileFailed for a source that must not, or cannot, reach a compiler."""
    if name := forbidden_include(source, macros):
        raise CompileFailed(
            f"does not compile: the source includes {name[:80]}; include headers of CUDA, of the "
            "standard library and of the include folders, by relative names in <> or quotes"
        )
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise CompileFailed(f"does not compile: the source is no valid text: {error}") from None


def _compiled(stored: CachedLibrary, seconds: float, *, cached: bool) -> CompiledHost:
    return CompiledHost(
        library=stored.library,
        log=stored.log,
        resources=stored.resources,
        sass=stored.sass,
        sass_missing=stored.sass_missing,
        seconds=seconds,
        cached=cached,
    )
