"""A compile worker that lies, dies or is interrupted does little to the judge."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import parse_host_plan
from mcts.errors import WorldError
from profilers.children.channel import ChildGone
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.host import compile_worker, jailed, library_cache
from profilers.host import compiler as module
from profilers.host.compiler import CompiledHost, CompileSlots, HostCompiler
from profilers.host.jailed import LIBRARY, CompileLost, read_untrusted_file
from profilers.host.nvcc import DEPENDENCIES
from profilers.host.settings import HostSettings
from tests.support.host_sources import source

TEXT = source()
TOLD: dict[str, Any] = {
    "ok": True, "compiled": True, "log": "", "resources": {"k": {"registers": 8}}, "sass": {},
    "sass_missing": "none",
}  # fmt: skip
Answer = Callable[[Path], Mapping[str, Any]]


class Scripted:
    """In place of a jailed process: answers from a list, and leaves what it likes."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.asked = 0
        self.killed = 0

    def module(self, _name: str, *, cwd: Path, jail: object) -> Scripted:
        self.cwd = cwd
        return self

    def request(self, request: Mapping[str, Any], *, timeout_s: float) -> Mapping[str, Any]:
        json.dumps(request)
        self.asked += 1
        return self.answers.pop(0)(self.cwd)

    def kill(self) -> None:
        self.killed += 1


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostCompiler]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "find_nvcc", lambda: Path("nvcc"))
    monkeypatch.setattr(module, "versions", lambda _nvcc: ("1",))
    monkeypatch.setattr(jailed, "compile_command", lambda *_a, **_k: ["nvcc"])
    made = HostCompiler(
        settings=HostSettings(library_bytes=1000, processes=2), cache_dir=tmp_path / "cache"
    )
    yield made
    made.close()
    assert list(tmp_path.glob("rooftree-cases-*")) == []


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def make(*answers: Answer) -> Scripted:
        worker = Scripted(list(answers))
        monkeypatch.setattr(jailed, "Child", worker)
        return worker

    return make


def compiled(compiler: HostCompiler) -> CompiledHost:
    return compiler.compile(TEXT, parse_host_plan(TEXT), {})


def good(folder: Path) -> Mapping[str, Any]:
    (folder / LIBRARY).write_bytes(b"library")
    (folder / DEPENDENCIES).write_text("candidate.so : x.cu\n")
    return TOLD


def told(**fields: Any) -> Answer:
    return lambda folder: {**good(folder), **fields}


def gone(reason: str, *, hung: bool = False) -> Answer:
    def answer(_folder: Path) -> Mapping[str, Any]:
        raise ChildGone(reason, hung=hung, output="")

    return answer


def left(name: str, make: Callable[[Path], object]) -> Answer:
    def answer(folder: Path) -> Mapping[str, Any]:
        reply = good(folder)
        (folder / name).unlink()
        make(folder / name)
        return reply

    return answer


@pytest.mark.parametrize("name", [LIBRARY, DEPENDENCIES])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "No such file"),
        (os.mkfifo, "no regular file"),
        (Path.mkdir, "no regular file"),
        (lambda path: path.symlink_to("/etc/hostname"), "symbolic link"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 2**40), "more than"),
    ],
)
def test_only_a_regular_file_of_moderate_size_is_taken(
    compiler: HostCompiler, scripted: Any, name: str, make: Any, said: str
) -> None:
    scripted(left(name, make))
    with pytest.raises(CompileFailed, match=said):
        compiled(compiler)


def test_a_file_that_grows_while_it_is_read_is_cut(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="more than 10"):
        read_untrusted_file(Path("/proc/self/status"), most_bytes=10)


@pytest.mark.parametrize(
    "answer",
    [
        told(sass={"k": {"instructions": "many"}}), told(sass=3), told(resources={"k": [1]}),
        told(resources={"k": {"registers": "x"}}), told(resources=None), told(compiled="yes"),
        told(resources={"k": {"registers": float("inf")}}), lambda folder: {"ok": True},
    ],
)  # fmt: skip
def test_forged_or_absent_fields_are_the_candidates_failure(
    compiler: HostCompiler, scripted: Any, answer: Answer
) -> None:
    scripted(answer)
    with pytest.raises(CompileFailed, match="did not tell"):
        compiled(compiler)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("internal", CompileLost), ("missing", WorldError), ("disk", WorldError)],
)
def test_only_a_missing_tool_or_a_full_disk_ends_the_run(
    compiler: HostCompiler, scripted: Any, kind: str, error: type[Exception]
) -> None:
    scripted(lambda _: {"ok": False, "kind": kind, "message": "MemoryError", "sticky": True})
    with pytest.raises(error, match="MemoryError"):
        compiled(compiler)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (gone("no answer", hung=True), CompileTimedOut),
        (gone("killed by SIGSEGV"), CompileLost),
        (lambda _: {"ok": True, "compiled": False, "log": "error", "lost": "crashed"}, CompileLost),
    ],
)
def test_a_failure_that_may_be_the_machines_is_not_cached(
    compiler: HostCompiler, scripted: Any, answer: Answer, error: type[Exception]
) -> None:
    worker = scripted(answer, good)
    with pytest.raises(error):
        compiled(compiler)
    assert not compiled(compiler).cached
    assert worker.asked == worker.killed == 2


def test_a_failure_of_the_source_is_cached(compiler: HostCompiler, scripted: Any) -> None:
    worker = scripted(lambda _: {"ok": True, "compiled": False, "log": "no ;", "lost": None})
    for _ in range(2):
        with pytest.raises(CompileFailed, match="does not compile: no ;"):
            compiled(compiler)
    assert worker.asked == 1


@pytest.mark.parametrize(
    "answer",
    [
        gone("killed by SIGKILL"),
        lambda _: {"ok": True, "compiled": False, "log": "signal 9", "lost": "killed"},
    ],
)
def test_a_compile_that_was_killed_is_retried_once(
    compiler: HostCompiler, scripted: Any, answer: Answer
) -> None:
    worker = scripted(answer, good)
    assert compiled(compiler).library.is_file()
    assert worker.asked == 2
    with pytest.raises(CompileLost):
        scripted(answer, answer)
        compiler.compile(TEXT, parse_host_plan(TEXT), {"UNROLL": 2})


def test_the_holder_of_all_slots_runs_alone() -> None:
    slots = CompileSlots(2)
    inside: list[str] = []
    with slots.all():
        other = threading.Thread(target=lambda: _enter(slots, inside))
        other.start()
        other.join(timeout=0.05)
        assert inside == []
    other.join()
    assert inside == ["in"]


def _enter(slots: CompileSlots, inside: list[str]) -> None:
    with slots.one():
        inside.append("in")


def test_a_closed_compiler_starts_nothing(compiler: HostCompiler, scripted: Any) -> None:
    worker = scripted(good)
    compiler.close()
    compiler.close()
    with pytest.raises(WorldError, match="closed"):
        compiled(compiler)
    assert worker.asked == 0


def test_closing_ends_the_worker_at_work(
    compiler: HostCompiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jailed, "WORKER", "tests.support.endless_worker")
    ended: list[Exception] = []

    def work() -> None:
        try:
            compiled(compiler)
        except WorldError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not compiler._jailed._children:
        threading.Event().wait(0.01)
    compiler.close()
    thread.join(timeout=30)
    assert "closed" in str(ended[0])


def test_an_interrupted_write_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library_cache.Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        library_cache.LibraryCache(tmp_path).store("key", b"library", told=TOLD, headers=[])
    assert list(tmp_path.iterdir()) == []


def test_a_new_version_of_the_reader_changes_the_cache_key(
    compiler: HostCompiler, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = scripted(good, good)
    assert len(module.readers_version()) == 64
    compiled(compiler)
    monkeypatch.setattr(module, "readers_version", lambda: "newer")
    assert not compiled(compiler).cached
    assert worker.asked == 2


@pytest.mark.parametrize("error", [MemoryError("x"), OSError("x"), RecursionError("x")])
def test_unreadable_machine_code_is_missing_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_library: Path, _arch: str) -> None:
        raise error

    monkeypatch.setattr(compile_worker, "read_executable_sass", fail)
    found = compile_worker._machine_code(
        Path("x.so"), "sm_90a", compile_worker.time.monotonic() + 60
    )
    assert found["sass"] == {}
    assert type(error).__name__ in found["sass_missing"]


def test_machine_code_is_read_within_the_rest_of_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(_library: Path, _arch: str) -> None:
        while True:
            threading.Event().wait(0.01)

    monkeypatch.setattr(compile_worker, "read_executable_sass", endless)
    monkeypatch.setattr(compile_worker, "_RESERVE_S", 0.0)
    for until_s in (0.0, compile_worker.time.monotonic() + 0.05):
        found = compile_worker._machine_code(Path("x.so"), "sm_90a", until_s)
        assert "nvcc has left too little" in found["sass_missing"]


@pytest.mark.parametrize(
    ("code", "log", "lost"),
    [
        (-9, "", "killed"),
        (1, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "killed"),
        (1, "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)", "crashed"),
        (1, "virtual memory exhausted: Cannot allocate memory", "crashed"),
        (-11, "", "crashed"),
        (2, "candidate.cu(3): error: expected a ;", None),
    ],
)
def test_exit_codes_that_may_be_the_machines_fault_are_recognized(
    code: int, log: str, lost: str | None
) -> None:
    assert compile_worker._machine_at_fault(code, log) == lost
