"""Runs nvcc on untrusted source: a folder and a jail for each compilation, its output checked."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.children.processes import Child, ChildGone
from profilers.children.scratch import ScratchFolder
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.compiling.toolchain import find_tool
from profilers.host.compile_log import CONDENSED_CAP
from profilers.host.entry import CANDIDATE, ENTRY
from profilers.host.library_cache import MALFORMED
from profilers.host.nvcc import DEPENDENCIES, compile_command, dependencies
from profilers.host.settings import HostSettings
from profilers.sandbox import Jail

LIBRARY = "candidate.so"
WORKER = "profilers.host.compile_worker"
_TMPFS_BYTES = 2 * 2**30
_DEPENDENCIES_BYTES = 16 * 2**20
_COMPILER_PROCESSES = 256
_OF_THE_WORLD = ("missing", "disk")


class CompileLost(CompileFailed):
    """The compiler crashed, ran out of memory or was killed; it may succeed another time.

    killed: with SIGKILL, which only the kernel's OOM killer or an operator sends.
    """

    def __init__(
        self, message: str, *, log: str = "", seconds: float = 0.0, killed: bool = False
    ) -> None:
        super().__init__(message, log=log, seconds=seconds)
        self.killed = killed


@dataclass(frozen=True, slots=True)
class NvccResult:
    """A library's content, the worker's reply about it, and the headers it was made from."""

    library: bytes
    told: Mapping[str, Any]
    headers: Sequence[Path]
    seconds: float


class JailedCompiler:
    """Runs nvcc, each time in a folder and a jail of its own; thread-safe."""

    def __init__(self, *, arch: str, settings: HostSettings) -> None:
        self.arch = arch
        self.settings = settings
        self._lock = threading.Lock()
        self._children: set[Child] = set()
        self._scratch: ScratchFolder | None = None
        self._closed = False

    def make(self, sources: Mapping[str, str], macros: Sequence[str]) -> NvccResult:
        """The library of `sources`, files by name. Raises what `HostCompiler.compile` does."""
        begin = time.perf_counter()
        with self._folder() as folder:
            try:
                for file, text in sources.items():
                    (folder / file).write_text(text, encoding="utf-8")
            except OSError as error:
                raise WorldError(f"no folder to compile in: {error}") from error
            reply = self._ask(folder, macros)
            seconds = time.perf_counter() - begin
            try:
                _check_success(reply, seconds)
                library = read_untrusted_file(
                    folder / LIBRARY, most_bytes=self.settings.library_bytes
                )
                headers = self._headers(folder)
            except MALFORMED as error:
                raise malformed_reply(error, seconds) from None
            except OSError as error:
                text = f"nvcc left no library that can be used: {error}"
                raise CompileFailed(text, seconds=seconds) from None
        return NvccResult(library, reply, headers, seconds)

    def close(self) -> None:
        """End the compilers at work, remove their files, and start no others; idempotent."""
        with self._lock:
            self._closed = True
            for child in self._children:
                # The thread that waits for it sees its end, and reaps it.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
            scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.close()

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """A fresh folder inside a `ScratchFolder`, which is removed even if we are killed."""
        try:
            with self._lock:
                self._check_open()
                if self._scratch is None:
                    self._scratch = ScratchFolder()
                made = tempfile.TemporaryDirectory(
                    dir=self._scratch.path.resolve(), ignore_cleanup_errors=True
                )
        except OSError as error:
            raise WorldError(f"no folder to compile in: {error}") from error
        with made as name:
            yield Path(name)

    def _check_open(self) -> None:
        if self._closed:
            raise WorldError("the compiler of host candidates was closed")

    def _ask(self, folder: Path, macros: Sequence[str]) -> dict[str, Any]:
        """Compile in a jail. CompileLost if the process was lost, WorldError for a tool."""
        settings = self.settings
        begin = time.perf_counter()
        request = self._request(folder, macros)
        with self._child(folder) as child:
            try:
                reply = child.request(request, timeout_s=settings.deadline_s)
            except ChildGone as gone:
                seconds = time.perf_counter() - begin
                self._check_open()
                if gone.hung:
                    raise CompileTimedOut(
                        f"nvcc did not finish within {settings.deadline_s:.0f} s: a compile bomb, "
                        "or too much to instantiate",
                        seconds=seconds,
                    ) from None
                text = f"nvcc crashed on this source or ran out of memory: {gone}"
                raise CompileLost(
                    text, log=gone.output[-2000:], seconds=seconds, killed="SIGKILL" in str(gone)
                ) from None
        if not reply["ok"] and reply["kind"] in _OF_THE_WORLD:
            raise WorldError(f"host candidates cannot be compiled: {reply['message']}")
        if not reply["ok"]:
            text = f"what nvcc made of this source could not be read: {reply['message'][:500]}"
            raise CompileLost(text, seconds=time.perf_counter() - begin)
        return reply

    def _request(self, folder: Path, macros: Sequence[str]) -> dict[str, Any]:
        includes = self.settings.includes
        demangler = find_tool("cu++filt") or find_tool("c++filt")
        return {
            "op": "compile",
            "command": compile_command(self.arch, macros, includes, source=ENTRY, library=LIBRARY),
            "library": LIBRARY,
            "arch": self.arch,
            "folder": str(folder),
            "environment": {},
            "sources": [CANDIDATE, ENTRY],
            "includes": [str(path) for path in includes],
            "demangler": str(demangler) if demangler else None,
            # The monotonic clock is the same for all processes of a machine.
            "until_s": time.monotonic() + self.settings.deadline_s,
        }

    @contextmanager
    def _child(self, folder: Path) -> Iterator[Child]:
        """A worker in a jail, known to `close`."""
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
        with self._lock:
            self._check_open()
            child = Child.module(WORKER, cwd=folder, jail=jail)
            self._children.add(child)
        try:
            yield child
        finally:
            with self._lock:
                self._children.discard(child)
            child.kill()

    def _headers(self, folder: Path) -> list[Path]:
        """Files below the include folders that the compiler read, by its dependency file."""
        noted = read_untrusted_file(folder / DEPENDENCIES, most_bytes=_DEPENDENCIES_BYTES)
        inside = self.settings.includes
        found = dependencies(noted.decode(errors="replace"))
        return [path for path in found if any(path.is_relative_to(one) for one in inside)]


def _check_success(reply: Mapping[str, Any], seconds: float) -> None:
    """CompileFailed or CompileLost if the reply says so; `MALFORMED` for a malformed one."""
    if reply["compiled"] is True:
        return
    log = str(reply["log"])[:CONDENSED_CAP].encode(errors="replace").decode()
    text = f"does not compile: {log.partition(chr(10))[0]}"
    if reply["lost"]:
        raise CompileLost(text, log=log, seconds=seconds, killed=reply["lost"] == "killed")
    raise CompileFailed(text, log=log, seconds=seconds)


def malformed_reply(error: Exception, seconds: float) -> CompileFailed:
    """The failure of a worker whose reply is malformed."""
    text = f"what compiled this source did not tell what it made: {repr(error)[:200]}"
    return CompileFailed(text, seconds=seconds)


def read_untrusted_file(path: Path, *, most_bytes: int) -> bytes:
    """Content of the regular file at `path`; OSError, with the reason, for anything else there.

    A jailed process may leave a link to another file, a pipe without an end, or terabytes.
    """
    # Non-blocking: opening a pipe would wait for its other end.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path.name} is no regular file")
        if found.st_size > most_bytes:
            raise OSError(f"{path.name} has {found.st_size} bytes, more than {most_bytes}")
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(most_bytes + 1)
    finally:
        os.close(fd)
    if len(content) > most_bytes:
        raise OSError(f"{path.name} has more than {most_bytes} bytes")
    return content
