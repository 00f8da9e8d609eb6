"""Real processes, killed at random moments: no job is lost, none is answered twice."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from experiments.farm.evaluator import SpoolEvaluator
from experiments.farm.folder import JobFolder
from experiments.farm.jobs import Terms
from experiments.farm.serve import serve
from experiments.runs.folders.journal import SqliteJournal, read_events
from mcts.domain import Candidate, Evaluation, KernelTask
from mcts.errors import WorldError
from mcts.loop.optimizer import Budget, Optimizer, Result
from mcts.ports import Evaluator, Journal
from mcts.testing.toy import (
    MemoryJournal,
    SilentAdvisor,
    ToyEvaluator,
    ToyProposer,
    toy_task,
)

ROOT = Path(__file__).resolve().parents[3]
JOBS, WORKERS, KILLS = 60, 3, 20
LEASE_S = 1.5

_WORKERS = """
import os, random, signal, sys, time
from pathlib import Path
from experiments.farm.folder import JobFolder
from experiments.farm.serve import serve
from mcts.testing.toy import ToyEvaluator

path, log = Path(sys.argv[1]), sys.argv[2]
count, kills, seed, last_signal = map(int, sys.argv[3:])
rng = random.Random(seed)
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

class Slow(ToyEvaluator):
    def evaluate(self, candidate):
        time.sleep(random.uniform(0.05, 0.2))
        return super().evaluate(candidate)

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and stays so

def start():
    if (pid := os.fork()) == 0:
        code = 99
        try:
            code = serve(
                JobFolder(path),
                evaluator_factory=lambda task, terms, on_progress: Slow(),
                say=lambda text: os.write(out, (text + chr(10)).encode()),
            )
        finally:
            os._exit(code)
    return pid

pids = [start() for _ in range(count)]
for _ in range(kills):
    time.sleep(rng.uniform(0.05, 0.2))
    victim = pids.pop(rng.randrange(len(pids)))
    os.kill(victim, signal.SIGKILL)
    assert os.waitpid(victim, 0)[1] == signal.SIGKILL, "it had ended by itself"
    pids.append(start())
print("all killed", flush=True)
sys.stdin.read()
for pid in pids:
    os.kill(pid, last_signal)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
sys.exit(max(codes))
"""

_SUBMITTERS = """
import os, signal, sys
from pathlib import Path
from experiments.farm.folder import JobFolder
from experiments.runs.folders.journal import SqliteJournal
from tests.experiments.farm.test_farm_processes import search

run, path, lives = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

class Mortal(SqliteJournal):
    '''Dies just before it would write down its second new measurement.'''

    measured = 0

    def append(self, kind, payload):
        self.measured += kind == "measured"
        if self.measured == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().append(kind, payload)

for life in range(lives):
    if (pid := os.fork()) == 0:
        try:
            if life % 2:
                signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
                signal.setitimer(signal.ITIMER_REAL, 0.12 + life * 0.01)
            search(run, path, journal=Mortal)
        finally:
            os._exit(99)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL, "it had ended by itself"
"""


def start(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def candidates() -> list[Candidate]:
    steps = itertools.islice(itertools.product((1, 2, 4, 8), repeat=3), JOBS)
    return [
        Candidate(tunables=dict(zip(("BLOCK", "TILE", "UNROLL"), step, strict=True)))
        for step in steps
    ]


def test_workers_killed_at_random_lose_no_job_and_answer_none_twice(tmp_path: Path) -> None:
    path, log = tmp_path / "farm", tmp_path / "log"
    folder = JobFolder(path, lease_s=LEASE_S)
    seed = os.environ.get("ROOFTREE_KILL_SEED", "0")
    asked = Counter[str]()
    with start(_WORKERS, path, log, WORKERS, KILLS, seed, 15) as workers:
        with (
            closing(SpoolEvaluator(toy_task(), folder)) as evaluator,
            ThreadPoolExecutor(8) as pool,
        ):

            def ask(candidate: Candidate) -> Evaluation:
                """Once more where three workers were killed over the same job."""
                asked[candidate.id] += 1
                try:
                    return evaluator.evaluate(candidate)
                except WorldError as error:
                    assert "3 workers took the job" in str(error)
                    return ask(candidate)

            found = list(pool.map(ask, candidates()))
            assert workers.stdout is not None
            assert workers.stdout.readline() == "all killed\n"
            assert len(list((path / "done").glob("job-*"))) == JOBS + 1
        _, words = workers.communicate(timeout=60)
    assert workers.returncode == 0, words
    toy = ToyEvaluator()
    assert found == [toy.evaluate(candidate) for candidate in candidates()]
    lines = log.read_text().splitlines()
    first = Counter(
        match[1]
        for line in lines
        if (match := re.match(r"(job-\w+) evaluate .*: (measured|runtime_error)", line))
        and "dropped" not in line
    )
    assert max(first.values()) == 1, "a job was answered twice"
    assert any("is queued again" in line for line in lines), "no kill met a job"
    assert list((path / "broken").iterdir()) == []
    assert folder.queued() == []


def search(run: Path, path: Path, *, journal: type[SqliteJournal]) -> Result:
    """A run over the folder's workers, from its start or from where it stopped."""
    with (
        closing(SpoolEvaluator(toy_task(), JobFolder(path), run_id="run")) as evaluator,
        journal(run) as kept,
    ):
        return optimizer(evaluator, kept).run()


def optimizer(evaluator: Evaluator, journal: Journal) -> Optimizer:
    return Optimizer(
        task=toy_task(),
        proposer=ToyProposer(),
        evaluator=evaluator,
        advisor=SilentAdvisor(),
        journal=journal,
        budget=Budget(evaluations=14),
        seed=4,
        parallel=2,
    )


@contextmanager
def workers_here(path: Path, calls: list[str]) -> Iterator[None]:
    """Two workers in threads; `calls` is every candidate they judged."""
    stop = threading.Event()

    def factory(task: KernelTask, terms: Terms, on_progress: Callable[[str], None]) -> ToyEvaluator:
        toy = ToyEvaluator()
        toy.calls = calls
        return toy

    with ThreadPoolExecutor(2) as pool:
        folder = JobFolder(path, lease_s=60)
        codes = [
            pool.submit(serve, folder, evaluator_factory=factory, stop=stop, say=lambda _text: None)
            for _ in range(2)
        ]
        try:
            yield
        finally:
            stop.set()
        assert [code.result() for code in codes] == [0, 0]


def test_a_submitter_killed_and_resumed_pays_for_nothing_twice(tmp_path: Path) -> None:
    run, path = tmp_path / "run.sqlite", tmp_path / "farm"
    calls: list[str] = []
    expected = optimizer(ToyEvaluator(), MemoryJournal()).run()
    with workers_here(path, calls):
        with start(_SUBMITTERS, run, path, 6) as submitters:
            _, words = submitters.communicate(timeout=60)
        assert submitters.returncode == 0, words
        result = search(run, path, journal=SqliteJournal)
    assert result.tree_digest == expected.tree_digest
    measured = [e.payload["candidate_id"] for e in read_events(tmp_path) if e.kind == "measured"]
    assert sorted(calls) == sorted(measured), "paid for once, journalled once"
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signalled_worker_leaves_nothing_taken(tmp_path: Path, number: signal.Signals) -> None:
    path, log = tmp_path / "farm", tmp_path / "log"
    with (
        start(_WORKERS, path, log, 1, 0, 0, int(number)) as worker,
        closing(SpoolEvaluator(toy_task(), JobFolder(path))) as evaluator,
        ThreadPoolExecutor(2) as pool,
    ):
        asked = [pool.submit(evaluator.evaluate, candidate) for candidate in candidates()[:8]]
        while not any(question.done() for question in asked):
            time.sleep(0.01)
        worker.communicate(timeout=60)
        evaluator.close()
    assert worker.returncode == 0
    assert list((path / "taken").iterdir()) == list((path / "workers").iterdir()) == []
