"""Baseline and candidate are timed on the same CPU core, in turns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pytest

from mcts.domain import Candidate
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from profilers.measuring.cores import TimingCores
from profilers.sandbox.process_tree import descendants, threads_of
from tests.profilers.kernelbench.judge.test_judge import FAKE, HONEST, SETTINGS, problem_task

MINE = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(MINE) < 2, reason="needs two CPU cores")


class NotedCores(TimingCores):
    """Notes after each turn on which cores the two processes are."""

    def __init__(self) -> None:
        super().__init__(MINE[:2])
        self.turns: list[tuple[int, set[int], int, set[int]]] = []
        self.started: list[set[int]] = []

    def turn_of(self, running: Sequence[int], *, waiting: Sequence[int]) -> None:
        super().turn_of(running, waiting=waiting)
        self.turns.append((running[0], cores_of(running), waiting[0], cores_of(waiting)))
        self.started += [
            cores_of([pid])
            for processes in (running, waiting)
            for pid in set(descendants(processes[0])) - set(processes)
        ]


def cores_of(processes: Sequence[int]) -> set[int]:
    return {
        core
        for pid in processes
        for thread in threads_of(pid)
        for core in os.sched_getaffinity(thread)
    }


@pytest.fixture
def judge() -> Iterator[KernelBenchEvaluator]:
    judge = KernelBenchEvaluator(problem_task(), device="cpu", settings=SETTINGS, processes=FAKE)
    yield judge
    judge.close()


def test_both_sides_of_a_block_have_one_core(judge: KernelBenchEvaluator) -> None:
    cores = NotedCores()
    judge._place._cores = cores
    found = judge.evaluate(Candidate(source=HONEST.format(seconds=0.004)))
    assert found.measured
    assert not any("cores of their own" in note for note in found.notes)
    assert len(cores.turns) >= 2 * SETTINGS.least_blocks
    blocks = zip(cores.turns[::2], cores.turns[1::2], strict=True)
    for (first, on, second, off), (then, later, waits, aside) in blocks:
        assert (then, waits) == (second, first)
        assert later == on
        assert aside == off
        assert len(on) == len(off) == 1
        assert on != off
    assert len({running for running, *_ in cores.turns}) == 2
    assert len({core for _, on, *_ in cores.turns for core in on}) == 1
    assert not cores.started


def test_what_a_candidate_starts_is_kept_off_the_core_of_the_timed(
    judge: KernelBenchEvaluator,
) -> None:
    """As the workers of PyTorch's compiler, which import it while the first blocks are timed."""
    cores = NotedCores()
    judge._place._cores = cores
    forks = "import os, time\nif not os.fork():\n    time.sleep(60)\n    os._exit(0)\n"
    found = judge.evaluate(Candidate(source=forks + HONEST.format(seconds=0.004)))
    assert found.measured
    (timed,) = {core for _, on, *_ in cores.turns for core in on}
    assert len(cores.started) == len(cores.turns)
    assert all(allowed == set(MINE[:2]) - {timed} for allowed in cores.started)


def test_a_judge_that_may_not_choose_cores_says_so(
    judge: KernelBenchEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: int, _cores: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    judge._place._cores = TimingCores(MINE[:2])
    found = judge.evaluate(Candidate(source=HONEST.format(seconds=0.004)))
    assert found.measured
    (note,) = found.notes
    assert "CPU cores of their own" in note
