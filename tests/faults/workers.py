"""Workers, searches and model servers that are killed while they depend on one another."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.faults.commands import RECORDING, ROOT, Ended, Running, environment, run
from tests.faults.kills import Kills, twice
from tests.faults.tally import Tally

KILLS = 6
"""In a strike."""
PATIENCE = 50
"""Tries to begin a server at its port."""
BETWEEN_S = (0.2, 4.0)
"""Seconds from one kill to the next, at random."""


class WorkerKills(Kills):
    """Of two workers and of the search that waits for them, whichever it hits."""

    name = "kills of workers"

    def words(self) -> list[str]:
        return [*super().words(), "--evaluator", "spool:spool"]

    def strike(self, tally: Tally) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "spool").mkdir(mode=0o700)
            workers = [self._worker(folder) for _ in range(2)]
            search = Running(self._next(folder), folder)
            for _ in range(KILLS):
                time.sleep(self._rng.uniform(*BETWEEN_S))
                if search.over():
                    break
                at = self._rng.randrange(3)
                killed = search if at == 2 else workers[at]
                if killed.over():
                    tally.violated(self.name, f"it ended: {killed.end().errors[-500:]}")
                    return
                ended = killed.kill()
                tally.tried(self.name)
                if fault := ended.fault():
                    tally.violated(self.name, fault)
                if at == 2:
                    search = Running(self._next(folder), folder)
                else:
                    workers[at] = self._worker(folder)
            ended = search.end()
            if ended.code != 0 and not (folder / "run" / "run.sqlite").is_file():
                ended = run(self._next(folder), folder)
            for worker in workers:
                if fault := worker.kill().fault(limit_s=float("inf")):
                    tally.violated(self.name, fault)
            for fault in (
                ended.fault(),
                self._difference(ended, self.whole),
                twice(folder / "run"),
            ):
                if fault:
                    tally.violated(self.name, fault)

    @cached_property
    def whole(self) -> dict[str, Any]:
        """What the search comes to with a worker that nobody disturbs."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "spool").mkdir(mode=0o700)
            worker = self._worker(folder)
            ended = run([*self.words(), "--out", "run"], folder)
            worker.kill()
            self.seconds = ended.seconds
            return json.loads(ended.output)

    def _worker(self, folder: Path) -> Running:
        return Running(["worker", "spool", "--recording", str(RECORDING)], folder)


class ServerKills(Kills):
    """Of the model's server, which comes back at the same address a little later."""

    name = "kills of model servers"
    evaluations = 10

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._port = 0

    def words(self) -> list[str]:
        return [
            *super().words(), "--proposer", "llm", "--model", "openai/auto",
            "--api-base", f"http://127.0.0.1:{self._port}/v1", "--price", "openai/auto=1,1",
        ]  # fmt: skip

    def strike(self, tally: Tally) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._port = 0
            with self._server(folder):
                pass  # an address that is free
            search = Running(self._next(folder), folder)
            for _ in range(KILLS):
                with self._server(folder):
                    time.sleep(self._rng.uniform(*BETWEEN_S))
                tally.tried(self.name)
                if search.over():
                    break
                time.sleep(self._rng.uniform(0.0, 1.0))
            with self._server(folder):
                ended = search.end()
                if ended.code != 0 and (fault := _in_a_line(ended)):
                    tally.violated(self.name, fault)
                if ended.code != 0:
                    ended = run(self._next(folder), folder)
            for fault in (ended.fault(), self._short(ended), twice(folder / "run")):
                if fault:
                    tally.violated(self.name, fault)

    def _short(self, ended: Ended) -> str | None:
        if ended.code != 0:
            return f"resume ended with {ended.code}: {ended.errors[-500:]}"
        found = json.loads(ended.output)["evaluations"]
        return None if found == self.evaluations else f"{found} evaluations"

    @contextmanager
    def _server(self, folder: Path) -> Iterator[None]:
        """The server until it is killed; the first one chooses the port."""
        words = ["tests/support/openai_server.py", "--port", str(self._port), "--script", "auto"]
        for _ in range(PATIENCE):
            process = subprocess.Popen(
                [sys.executable, *words], cwd=ROOT, env=environment(folder),
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            assert process.stdout is not None
            if url := process.stdout.readline():
                break
            process.communicate()  # another program has the port for now
        else:
            raise AssertionError(f"port {self._port} does not become free")
        try:
            self._port = int(url.rsplit(":", 1)[1].split("/")[0])
            yield
        finally:
            process.kill()
            process.communicate()


def _in_a_line(ended: Ended) -> str | None:
    return ended.fault() or (None if "Error" not in ended.errors else ended.errors[-500:])
