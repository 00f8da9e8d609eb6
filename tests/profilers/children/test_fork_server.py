"""Forks of one process: each in a jail of its own, none outlives its end, all are told apart."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcts.errors import WorldError
from profilers.children.fork_server import ForkedChild, ForkServer
from profilers.children.processes import ChildGone, child_environment, probe_isolation
from profilers.sandbox import Jail
from tests.support.orphan import ORPHAN, free_again, soon

MODULE = """
import os
from profilers.children.forking import serve_forks

IMPORTED = os.getpid()

def make_handlers(context):
    def run(request):
        names = {"given": request.get("given"), "context": context, "imported": IMPORTED}
        exec(request["code"], names)
        return {"value": names.get("value")}
    return {"run": run}

serve_forks(make_handlers)
"""
JAIL = Jail(processes=200)
TIMEOUT_S = 30.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "a_fork_server.py").write_text(MODULE)
    (folder / "broken_fork_server.py").write_text("import no_such_module\n")
    return folder


def start(module: str, folder: Path) -> ForkServer:
    variables = child_environment()
    variables["PYTHONPATH"] += os.pathsep + str(folder)
    return ForkServer(module, cwd=folder, environment=variables)


@pytest.fixture(scope="module")
def fork_server(folder: Path) -> Iterator[ForkServer]:
    fork_server = start("a_fork_server", folder)
    yield fork_server
    fork_server.close()


@pytest.fixture
def child(fork_server: ForkServer, tmp_path: Path) -> Iterator[ForkedChild]:
    child = fork_server.fork(Jail(writable=(tmp_path,), processes=200), cwd=tmp_path)
    yield child
    child.kill()


def run(child: ForkedChild, code: str, given: object = None) -> object:
    reply = child.request({"op": "run", "code": code, "given": given}, timeout_s=TIMEOUT_S)
    assert reply["ok"], reply
    return reply["value"]


def test_a_fork_is_jailed_like_any_child(child: ForkedChild, tmp_path: Path) -> None:
    assert child.isolation == probe_isolation()
    code = "import os; value = [os.getcwd(), str(context.cwd), context.report.parts]"
    assert run(child, code) == [str(tmp_path), str(tmp_path), list(probe_isolation().parts)]


def test_many_forks_leave_no_process_behind(fork_server: ForkServer, tmp_path: Path) -> None:
    answers = []
    for number in range(50):
        child = fork_server.fork(JAIL, cwd=tmp_path)
        answers.append(run(child, "value = [given, imported]", number))
        child.kill()
        assert not child.alive
    assert [answer[0] for answer in answers if isinstance(answer, list)] == list(range(50))
    assert {answer[1] for answer in answers if isinstance(answer, list)} == {fork_server.pid}
    parents = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.append(int(entry.read_text().rsplit(")", 1)[1].split()[1]))
        except OSError:
            continue
    assert fork_server.pid not in parents


def test_forks_live_side_by_side(fork_server: ForkServer, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        children = list(pool.map(lambda _: fork_server.fork(JAIL, cwd=tmp_path), range(4)))
        answers = list(pool.map(lambda c: run(c, "value = given * 2", 21), children))
    assert answers == [42] * 4
    children[0].kill()
    assert [child.alive for child in children] == [False, True, True, True]
    assert run(children[3], "value = 1") == 1
    for child in children:
        child.kill()


def test_a_fork_holds_nothing_of_the_fork_server(fork_server: ForkServer, tmp_path: Path) -> None:
    """Or it could answer for it, or for another fork."""
    others = [fork_server.fork(JAIL, cwd=tmp_path) for _ in range(2)]
    code = """
import os
value = []
for name in os.listdir('/proc/self/fd'):
    try:
        value.append(os.readlink('/proc/self/fd/' + name).split(':')[0])
    except OSError:
        pass
"""
    held = run(others[1], code)
    assert isinstance(held, list)
    # Standard streams, requests and replies; the socket for descriptors.
    assert held.count("pipe") == 5 and held.count("socket") == 1
    for other in others:
        other.kill()


def test_descriptors_travel_both_ways(child: ForkedChild) -> None:
    ours = os.memfd_create("ours")
    try:
        child.send_descriptors([ours])
        code = """
import os
(taken,) = context.descriptors.receive(1, timeout_s=10)
os.write(taken, b'written inside')
context.descriptors.send([taken, taken])
"""
        run(child, code)
        back = child.receive_descriptors(2, timeout_s=10)
        assert all(os.pread(fd, 99, 0) == b"written inside" for fd in (ours, *back))
        assert not any(os.get_inheritable(fd) for fd in back)
        for fd in back:
            os.close(fd)
    finally:
        os.close(ours)


def test_descriptors_that_do_not_come_end_the_child(child: ForkedChild) -> None:
    with pytest.raises(ChildGone, match="descriptor"):
        child.receive_descriptors(1, timeout_s=0.2)
    assert not child.alive


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_crash_is_reported_with_its_signal(
    fork_server: ForkServer, tmp_path: Path, number: signal.Signals
) -> None:
    child = fork_server.fork(JAIL, cwd=tmp_path)
    with pytest.raises(ChildGone, match=number.name) as caught:
        run(
            child, "import os; print('last words', flush=True); os.kill(os.getpid(), given)", number
        )
    assert "last words" in caught.value.output and not caught.value.hung


def test_a_hung_fork_is_ended_with_all_it_started(child: ForkedChild, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    run(child, ORPHAN, str(lock))
    with pytest.raises(ChildGone) as caught:
        child.request({"op": "run", "code": "import time; time.sleep(600)"}, timeout_s=0.3)
    assert caught.value.hung and not child.alive
    assert free_again(lock)


def test_a_fork_server_that_died_is_no_fault_of_its_forks(folder: Path, tmp_path: Path) -> None:
    fork_server = start("a_fork_server", folder)
    try:
        child = fork_server.fork(Jail(writable=(tmp_path,), processes=200), cwd=tmp_path)
        lock = tmp_path / "lock"
        lock.touch()
        run(child, ORPHAN, str(lock))
        before = fork_server.pid
        os.kill(before, signal.SIGKILL)
        assert free_again(lock)
        with pytest.raises(WorldError, match="forked from"):
            run(child, "value = 1")
        again = fork_server.fork(JAIL, cwd=tmp_path)
        assert fork_server.pid != before
        assert run(again, "value = 1") == 1
        again.kill()
    finally:
        fork_server.close()


def test_the_end_of_a_fork_server_ends_its_forks(folder: Path, tmp_path: Path) -> None:
    fork_server = start("a_fork_server", folder)
    child = fork_server.fork(JAIL, cwd=tmp_path)
    fork_server.close()
    fork_server.close()
    assert soon(lambda: not child.alive)
    child.kill()
    with pytest.raises(WorldError, match="closed"):
        fork_server.fork(JAIL, cwd=tmp_path)


def test_a_module_that_cannot_start_is_a_world_error(folder: Path, tmp_path: Path) -> None:
    fork_server = start("broken_fork_server", folder)
    with pytest.raises(WorldError, match="no_such_module"):
        fork_server.fork(JAIL, cwd=tmp_path)
    fork_server.close()


def test_a_folder_that_is_not_there_is_told(fork_server: ForkServer, tmp_path: Path) -> None:
    child = fork_server.fork(JAIL, cwd=tmp_path / "absent")
    with pytest.raises(ChildGone, match="ended") as caught:
        run(child, "value = 1")
    assert "absent" in caught.value.output
