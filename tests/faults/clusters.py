"""A cluster's scheduler, its workers and the search on it, killed at random."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.faults.commands import RECORDING, ROOT, Ended, Running, environment, run
from tests.faults.kills import Kills, twice
from tests.faults.tally import Tally

KILLS = 8
"""In a strike."""
BETWEEN_S = (0.3, 2.5)
MOST_RESUMES = 12
VICTIMS = ("worker", "worker", "worker", "worker", "search", "search", "scheduler")


class ClusterKills(Kills):
    """Of two workers, the scheduler and the search that asks them, whichever it hits."""

    name = "kills in clusters"
    evaluations = 150

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._port = 0

    def words(self) -> list[str]:
        return [
            *super().words(), "--evaluator", f"dask:tcp://127.0.0.1:{self._port}",
            "--recording", str(RECORDING), "--parallel", "2", "--memory", "off", "--wait", "1",
        ]  # fmt: skip

    @cached_property
    def whole(self) -> dict[str, Any]:
        """What a replay in one process comes to."""
        words = [*super().words(), "--parallel", "2", "--memory", "off", "--out", "run"]
        with tempfile.TemporaryDirectory() as name:
            ended = run(words, Path(name))
            self.seconds = ended.seconds
            return json.loads(ended.output)

    def strike(self, tally: Tally) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._port = _free_port()
            parts = {"scheduler": [self._scheduler(folder)], "worker": self._workers(folder)}
            try:
                self._disturb(folder, parts, tally)
            finally:
                for process in (*parts["scheduler"], *parts["worker"]):
                    _kill(process)

    def _disturb(
        self, folder: Path, parts: dict[str, list[subprocess.Popen[bytes]]], tally: Tally
    ) -> None:
        search, kills, resumes = Running(self._next(folder), folder), 0, 0
        while True:
            time.sleep(self._rng.uniform(*BETWEEN_S))
            if search.over():
                ended = search.end()
                if ended.code == 0:
                    break
                resumes += 1
                if fault := _unlike_a_lost_cluster(ended):
                    tally.violated(self.name, fault)
                if resumes > MOST_RESUMES:
                    tally.violated(self.name, f"{resumes} resumes: {ended.errors[-500:]}")
                    return
                search = Running(self._next(folder), folder)
            elif kills < KILLS:
                kills += 1
                search = self._kill_one(folder, parts, search, tally)
        for fault in (ended.fault(), self._difference(ended, self.whole), twice(folder / "run")):
            if fault:
                tally.violated(self.name, fault)

    def _kill_one(
        self,
        folder: Path,
        parts: dict[str, list[subprocess.Popen[bytes]]],
        search: Running,
        tally: Tally,
    ) -> Running:
        """Kill something and begin it again; the search, or the one in its place."""
        victim = self._rng.choice(VICTIMS)
        tally.tried(f"{self.name}: {victim}")
        if victim == "search":
            if fault := search.kill().fault():
                tally.violated(self.name, fault)
            return Running(self._next(folder), folder)
        if victim == "scheduler":
            for process in (*parts["scheduler"], *parts["worker"]):
                _kill(process)
            parts["scheduler"], parts["worker"] = [self._scheduler(folder)], self._workers(folder)
        else:
            at = self._rng.randrange(len(parts["worker"]))
            _kill(parts["worker"][at])
            parts["worker"][at] = self._workers(folder)[0]
        return search

    def _scheduler(self, folder: Path) -> subprocess.Popen[bytes]:
        return _dask(
            ["dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard"],
            folder,
        )

    def _workers(self, folder: Path) -> list[subprocess.Popen[bytes]]:
        words = [
            "dask_worker", f"tcp://127.0.0.1:{self._port}", "--nthreads", "4", "--no-nanny",
            "--resources", "GPU=1", "--no-dashboard", "--death-timeout", "30",
        ]  # fmt: skip
        return [_dask(words, folder) for _ in range(2)]


def _dask(words: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    module, *rest = words
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *rest], cwd=folder,
        env={**environment(folder), "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _unlike_a_lost_cluster(ended: Ended) -> str | None:
    """What is wrong with how a search ended that may have lost its cluster."""
    if fault := ended.fault():
        return fault
    lost = ("scheduler", "no worker", "no GPU", "ended every worker")
    if ended.code == 2 and any(word in ended.errors for word in lost):
        return None
    return f"it ended with {ended.code}: {ended.errors[-500:]}"
