"""A disk that is full at any moment: one line says so, and with room again the run goes on."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from tests.faults.commands import run
from tests.faults.kills import Kills, twice
from tests.faults.tally import Tally


class FullDisks:
    name = "full disks"

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._kills = rng, Kills(rng)

    def strike(self, tally: Tally) -> None:
        whole = self._kills.whole
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            words = [*self._kills.words(), "--out", "run"]
            ended = run(words, folder, largest_file=int(2 ** self._rng.uniform(6, 20)))
            tally.tried(self.name)
            if fault := ended.fault():
                tally.violated(self.name, fault)
            if not (folder / "run" / "config.toml").is_file():
                return  # it was said before a run began, and nothing is left of it
            again = run(["resume", "run", "--json", "--quiet"], folder)
            if again.code != 0:
                tally.violated(self.name, f"resume with room again: {again.errors[-500:]}")
            elif json.loads(again.output)["tree_digest"] != whole["tree_digest"]:
                tally.violated(self.name, "a run that met a full disk came to another tree")
            if fault := again.fault() or twice(folder / "run"):
                tally.violated(self.name, fault)
