"""Servers of models that are killed while a search depends on them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.commands import ROOT, Ended, Running, environment, run
from tests.faults.kills import Kills, twice
from tests.faults.tally import Tally

KILLS = 6
"""In a strike."""
PATIENCE = 50
"""Tries to begin a server at its port."""
BETWEEN_S = (0.2, 4.0)
"""Seconds from one kill to the next, at random."""


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
