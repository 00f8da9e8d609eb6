"""On which CPU cores processes run, and what they started, while one of them is timed."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from profilers.measuring.cores import TimingCores, cores_beside
from profilers.sandbox.process_tree import descendants, threads_of

MINE = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(MINE) < 2, reason="needs two CPU cores")

# A process with a thread that starts another one when told to, and a child of its own.
BUSY = """
import subprocess, sys, threading, time
said = "import time; print('up', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", said])
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
for _ in sys.stdin:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    print("more", flush=True)
child.kill()
"""


@pytest.fixture
def pair() -> Iterator[list[subprocess.Popen[str]]]:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
    yield started
    for process in started:
        process.communicate(timeout=30)


def threads(root: int) -> list[int]:
    """All threads of a process and its descendants."""
    return [thread for pid in (root, *descendants(root)) for thread in threads_of(pid)]


def cores_of(root: int) -> set[frozenset[int]]:
    return {frozenset(os.sched_getaffinity(thread)) for thread in threads(root)}


def test_a_child_of_a_child_is_a_descendant(pair: list[subprocess.Popen[str]]) -> None:
    first, second = (process.pid for process in pair)
    assert {first, second} < set(descendants(os.getpid()))
    (child,) = descendants(first)
    assert child not in (first, second)
    assert not descendants(child)


def test_without_lists_of_children_the_parents_are_asked(
    pair: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = descendants(pair[0].pid)
    monkeypatch.setattr("profilers.sandbox.process_tree._children", lambda _pid: None)
    assert descendants(pair[0].pid) == listed


def test_who_runs_has_one_core_and_who_waits_another(pair: list[subprocess.Popen[str]]) -> None:
    first, second = (process.pid for process in pair)
    whole = [(pid, *descendants(pid)) for pid in (first, second)]
    cores = TimingCores(MINE[:2])
    cores.turn_of(whole[0], waiting=whole[1])
    (on,), (off,) = cores_of(first), cores_of(second)
    assert len(on) == len(off) == 1
    assert on | off == set(MINE[:2])
    cores.turn_of(whole[1], waiting=whole[0])
    assert (cores_of(second), cores_of(first)) == ({on}, {off})
    cores.release([first], [second])
    assert cores_of(first) == cores_of(second) == {frozenset(MINE)}
    assert not cores.refused


@pytest.mark.skipif(len(MINE) < 3, reason="needs three CPU cores")
def test_what_was_started_has_all_cores_but_the_one(pair: list[subprocess.Popen[str]]) -> None:
    first, second = (process.pid for process in pair)
    children = [descendants(pid)[0] for pid in (first, second)]
    cores = TimingCores(MINE[:3])
    cores.turn_of([first], waiting=[second])
    (on,) = os.sched_getaffinity(first)
    assert os.sched_getaffinity(second) < set(MINE[:3]) - {on}
    for child in children:
        assert os.sched_getaffinity(child) == set(MINE[:3]) - {on}


def test_what_is_started_later_is_on_the_same_core(pair: list[subprocess.Popen[str]]) -> None:
    first, second = pair
    whole = [(each.pid, *descendants(each.pid)) for each in (first, second)]
    TimingCores(MINE[:2]).turn_of(whole[0], waiting=whole[1])
    before = len(threads(first.pid))
    assert first.stdin is not None
    assert first.stdout is not None
    print("go", file=first.stdin, flush=True)
    assert first.stdout.readline() == "more\n"
    assert len(threads(first.pid)) == before + 1
    assert len(cores_of(first.pid)) == 1


def test_a_process_that_starts_threads_without_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look finds another thread, which is gone by then."""
    numbers = itertools.count(2**30)
    monkeypatch.setattr("profilers.measuring.cores.threads_of", lambda _pid: [next(numbers)])
    cores = TimingCores(MINE[:2])
    cores.turn_of([os.getpid()], waiting=[os.getpid()])
    assert not cores.refused


def test_a_tree_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profilers.sandbox.process_tree._children", lambda pid: [pid + 1])
    assert len(descendants(1)) >= 1_000


def test_each_draw_is_of_all_cores() -> None:
    cores = TimingCores((3, 5, 9))
    seen = set()
    for _ in range(200):
        cores.draw()
        seen.add(cores._pair)
    assert seen == {(a, b) for a in (3, 5, 9) for b in (3, 5, 9) if a != b}


def test_one_core_is_left_alone(pair: list[subprocess.Popen[str]]) -> None:
    first, second = (process.pid for process in pair)
    cores = TimingCores(MINE[:1])
    cores.draw()
    cores.turn_of([first], waiting=[second])
    assert cores_of(first) == cores_of(second) == {frozenset(MINE)}


def test_a_kernel_that_says_no_is_asked_once(
    pair: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(thread: int, _cores: object) -> None:
        asked.append(thread)
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    cores = TimingCores(MINE[:2])
    for _ in range(3):
        cores.turn_of([pair[0].pid], waiting=[pair[1].pid])
    assert cores.refused
    assert len(asked) == 1


def test_processes_that_have_ended_are_no_error(pair: list[subprocess.Popen[str]]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    time.sleep(0.01)
    cores = TimingCores(MINE[:2])
    cores.turn_of([pair[0].pid], waiting=[gone.pid])
    assert len(os.sched_getaffinity(pair[0].pid)) == 1
    assert not cores.refused


def test_judges_on_several_gpus_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {8, 9, 10, 11, 12})
    assert cores_beside(0, 1) == (8, 9, 10, 11, 12)
    assert cores_beside(0, 2) == (8, 10, 12)
    assert cores_beside(1, 2) == (9, 11)
    assert cores_beside(2, 4) == (8, 9, 10, 11, 12)  # too few to share
