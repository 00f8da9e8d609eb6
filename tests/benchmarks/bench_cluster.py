"""What a cluster adds to each evaluation, and how long its workers wait for work.

    python -m tests.benchmarks.bench_cluster --workers 64 --evaluations 2000 --seconds 1

Starts a scheduler and so many workers on this machine, each of which takes `--seconds` for a
candidate without doing anything, and asks for the evaluations from `--asking` threads. Prints the
time that it took beside the least possible one, the share of the time in which workers were idle,
and the processor time of scheduler and asking process for each evaluation, which bounds how many
workers they can serve.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from distributed import Client, LocalCluster

from experiments.cluster.evaluator import RESOURCE, ClusterEvaluator
from mcts.domain import Candidate, Evaluation, KernelTask
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.testing.toy import ToyEvaluator, toy_task

SECONDS = "ROOFTREE_BENCH_SECONDS"
CANDIDATE = Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4})


class Slow(ToyEvaluator):
    """Takes its time."""

    def evaluate(self, candidate: Candidate) -> Evaluation:
        time.sleep(float(os.environ[SECONDS]))
        return super().evaluate(candidate)


def slow(task: KernelTask, judging: JudgingOptions, seed: int) -> Evaluator:
    """The factory that the workers import."""
    return Slow()


@contextmanager
def _workers(count: int, processes: int, scheduler: str) -> Iterator[None]:
    """So many workers, in as many processes as the machine can bear."""
    options = {"nthreads": 1, "resources": {RESOURCE: 1}, "memory_limit": 0, "dashboard": False}
    kind = {"cls": "distributed.Worker", "opts": options}
    started = []
    for first in range(processes):
        spec = {f"worker-{number}": kind for number in range(first, count, processes)}
        words = ["-m", "distributed.cli.dask_spec", scheduler, "--spec", json.dumps(spec)]
        started.append(subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL))
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=8, help="that share the workers")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--asking", type=int, default=0, help="default: two for each worker")
    given = parser.parse_args()
    asking = given.asking or 2 * given.workers
    os.environ[SECONDS] = str(given.seconds)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster,
        Client(cluster, set_as_default=False) as client,
        _workers(given.workers, given.processes, cluster.scheduler_address),
    ):
        client.wait_for_workers(given.workers, timeout=300)
        evaluator = ClusterEvaluator(toy_task(), client, factory=slow, judging=JudgingOptions())
        with ThreadPoolExecutor(asking) as pool:
            list(pool.map(evaluator.evaluate, [CANDIDATE] * given.workers))  # all have prepared
            before, began = time.process_time(), time.monotonic()
            list(pool.map(evaluator.evaluate, [CANDIDATE] * given.evaluations))
            took, busy = time.monotonic() - began, time.process_time() - before
        evaluator.close()
    least = given.evaluations * given.seconds / given.workers
    print(f"{given.evaluations} evaluations of {given.seconds:g} s on {given.workers} workers")
    print(f"took {took:.1f} s, at least {least:.1f} s: workers idle for {1 - least / took:.1%}")
    each_ms = 1e3 * busy / given.evaluations
    print(
        f"scheduler and asking process: {each_ms:.2f} ms of processor time for each evaluation, "
        f"so at most {1e3 * given.seconds / each_ms:.0f} workers at that rate"
    )


if __name__ == "__main__":
    main()
