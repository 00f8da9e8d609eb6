"""A child may hang, crash, flood or talk nonsense: the parent gets an answer or a reason."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcts.errors import WorldError
from profilers.children.processes import Child, ChildGone, child_environment
from profilers.hardware.locks import GpuLock
from tests.support.orphan import gone, soon

CHILD = """
import json, os, struct, subprocess, sys, threading, time
from profilers.children.descriptors import DescriptorSocket
from profilers.children.protocol import RequestRefused
from profilers.children.serving import serve

def echo(request):
    return {"value": request["value"]}

def environment(request):
    return {"environment": dict(os.environ)}

def hang(request):
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(request["pids"], "w") as file:
        file.write(f"{os.getpid()} {helper.pid}")
    time.sleep(600)

def crash(request):
    print("last words", flush=True)
    os.abort()

def flood(request):
    for _ in range(2000):
        os.write(1, b"x" * 4096)
    os.write(1, b"the end")
    return {}

def garbage(request):
    os.write(int(sys.argv[sys.argv.index("--replies") + 1]), b"\\xff" * 64)
    time.sleep(600)

def stream(request):
    def run():
        while True:
            os.write(1, b"x" * 65536)
    threading.Thread(target=run, daemon=True).start()
    return {}

def frame(fields):
    body = json.dumps(fields).encode()
    os.write(int(sys.argv[sys.argv.index("--replies") + 1]), struct.pack("<I", len(body)) + body)

def early(request):
    frame({"ok": True, "value": "forged"})
    return {}

def twice(request):
    frame({"ok": True, "value": "mine", "nonce": request["nonce"]})
    return {}

def wordless(request):
    frame({"nonce": request["nonce"]})
    return {}

def infinite(request):
    return {"value": float("inf")}

def double_fork(request):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(request["pids"], "w") as file:
                file.write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not (os.path.exists(request["pids"]) and os.path.getsize(request["pids"])):
        time.sleep(0.01)
    return {}

def share(request):
    channel = DescriptorSocket.from_arguments()
    (fd,) = channel.receive(1, timeout_s=10)
    os.write(fd, b"written by the child")
    channel.send([fd])
    return {}

def refuse(request):
    raise RequestRefused("launch", "no such thing")

def fail(request):
    raise ValueError("unforeseen")

serve({f.__name__: f for f in (
    echo, environment, hang, crash, flood, garbage, stream, early, twice, wordless, infinite,
    double_fork, share, refuse, fail,
)})
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "child.py"
    path.write_text(CHILD)
    return path


@pytest.fixture
def child(script: Path) -> Iterator[Child]:
    child = Child([sys.executable, str(script)], cwd=script.parent)
    yield child
    child.kill()
    child.kill()
    assert not child.alive


def ask(child: Child, op: str, **fields: object) -> dict[str, Any]:
    return child.request({"op": op, **fields}, timeout_s=20)


def test_requests_are_answered_in_turn(child: Child) -> None:
    for value in (1, "two", [3]):
        assert ask(child, "echo", value=value)["value"] == value


def test_no_secret_reaches_a_child(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "planted-secret")
    monkeypatch.setenv("AWS_SECRET", "planted-secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    seen = ask(request.getfixturevalue("child"), "environment")["environment"]
    assert "planted-secret" not in seen.values()
    assert seen["CUDA_VISIBLE_DEVICES"] == "0"
    assert set(seen) <= set(child_environment()) | {"LC_CTYPE", "ROOFTREE_CHILD"}


def test_a_missed_deadline_kills_the_whole_process_group(child: Child, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(ChildGone) as caught:
        child.request({"op": "hang", "pids": str(pids)}, timeout_s=1.5)
    assert caught.value.hung
    assert not child.alive
    assert soon(lambda: all(gone(int(pid)) for pid in pids.read_text().split())), (
        "a descendant outlived the kill"
    )


def test_a_crash_is_reported_with_signal_and_last_words(child: Child) -> None:
    with pytest.raises(ChildGone, match="SIGABRT") as caught:
        ask(child, "crash")
    assert not caught.value.hung
    assert "last words" in caught.value.output


def test_output_is_drained_and_capped(child: Child) -> None:
    ask(child, "flood")
    with pytest.raises(ChildGone) as caught:
        ask(child, "crash")
    assert len(caught.value.output) <= 8192


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ("garbage", "frame"),
        ("early", "out of turn"),
        ("wordless", "neither yes nor why not"),
    ],
)
def test_a_reply_that_answers_nothing_kills_the_child(child: Child, op: str, reason: str) -> None:
    with pytest.raises(ChildGone, match=reason):
        ask(child, op)
    assert not child.alive


def test_a_second_answer_is_never_taken_for_the_next(child: Child) -> None:
    assert ask(child, "twice") == {"ok": True, "value": "mine"}
    with pytest.raises(ChildGone, match="out of turn"):
        ask(child, "echo", value=1)


def test_an_answer_that_cannot_be_sent_is_an_error(child: Child) -> None:
    reply = ask(child, "infinite")
    assert (reply["ok"], reply["kind"]) == (False, "internal")
    assert ask(child, "echo", value=1)["value"] == 1


def test_a_flood_without_end_delays_no_answer(child: Child) -> None:
    ask(child, "stream")
    for value in range(200):
        assert child.request({"op": "echo", "value": value}, timeout_s=10)["value"] == value


def test_a_descendant_that_left_the_process_group_is_killed(child: Child, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    ask(child, "double_fork", pids=str(pids))
    assert not gone(int(pids.read_text()))
    child.kill()
    assert gone(int(pids.read_text()))


def test_open_files_travel_both_ways(script: Path) -> None:
    child = Child([sys.executable, str(script)], cwd=script.parent, descriptors=True)
    memory = os.memfd_create("shared")
    try:
        child.send_descriptors([memory])
        ask(child, "share")
        (back,) = child.receive_descriptors(1, timeout_s=10)
        assert os.pread(back, 99, 0) == os.pread(memory, 99, 0) == b"written by the child"
        os.close(back)
        with pytest.raises(ChildGone, match="descriptor"):
            child.receive_descriptors(1, timeout_s=0.1)
    finally:
        os.close(memory)
        child.kill()


def test_a_child_without_a_jail_says_so(child: Child) -> None:
    assert child.isolation.level == "process"


def test_refusals_and_unforeseen_errors_are_answers(child: Child) -> None:
    refused = ask(child, "refuse")
    assert (refused["ok"], refused["kind"], refused["sticky"]) == (False, "launch", False)
    failed = ask(child, "fail")
    assert (failed["kind"], failed["sticky"]) == ("internal", True)
    assert "unforeseen" in failed["message"]


def test_a_child_dies_with_its_parent(script: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    parent = (
        "import os, pathlib, sys\n"
        "from profilers.children.processes import Child\n"
        f"child = Child([sys.executable, {str(script)!r}], cwd=pathlib.Path('.'))\n"
        "child.request({'op': 'echo', 'value': 1}, timeout_s=10)\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    program = tmp_path / "parent.py"
    program.write_text(parent)
    child = os.spawnve(
        os.P_WAIT, sys.executable, [sys.executable, str(program)], child_environment()
    )
    assert child == -9
    assert soon(lambda: gone(int(note.read_text()))), "the child outlived its parent"


def test_a_program_that_does_not_exist_is_a_world_error(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="cannot start"):
        Child([str(tmp_path / "nothing")], cwd=tmp_path)


def test_a_gpu_has_one_judge_at_a_time(tmp_path: Path) -> None:
    first, second = GpuLock("GPU-1", folder=tmp_path), GpuLock("GPU-1", folder=tmp_path)
    said: list[str] = []
    first.acquire()
    with pytest.raises(WorldError, match=f"pid {os.getpid()}"):
        second.acquire(wait_s=0.05, on_wait=said.append)
    assert len(said) == 1
    GpuLock("GPU-2", folder=tmp_path).acquire(wait_s=0)
    first.release()
    first.release()
    second.acquire(wait_s=0)
    second.release()
