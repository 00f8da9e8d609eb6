"""Bytes changed in files that the product reads: it says so in a line, or shows what was true."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from functools import cached_property
from pathlib import Path

from tests.faults.commands import READING_S, run
from tests.faults.mutations import damage
from tests.faults.tally import Tally

READERS = (
    ("explain", "run"),
    ("resume", "run", "--json", "--quiet"),
    ("report", "run"),
    ("tree", "run"),
    ("export", "run", "out"),
    ("memory", "show", "--memory", "memory.sqlite"),
    ("optimize", "t4.json.gz", "--evaluations", "5", "--quiet"),
    ("optimize", "run/task", "--evaluations", "3", "--quiet"),
)


class Flips:
    """Of a finished run, its memory and a recording."""

    name = "damaged files"

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    @cached_property
    def _made(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="rooftree-faults-"))
        words = "optimize row_softmax --evaluations 20 --seed 3 --quiet --json --out run"
        ended = run([*words.split(), "--memory", "memory.sqlite"], folder)
        assert ended.code == 0, ended.errors
        self.best_us = json.loads(ended.output)["best_us"]
        recordings = Path(__file__).resolve().parents[2] / "experiments" / "data" / "tasks"
        shutil.copyfile(next(recordings.rglob("*.json.gz")), folder / "t4.json.gz")
        return folder

    def strike(self, tally: Tally) -> None:
        """One file is damaged, and every command that reads it is run."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "there"
            shutil.copytree(self._made, folder)
            files = [file for file in sorted(folder.rglob("*")) if self._counts(file)]
            file = self._rng.choice(files)
            file.write_bytes(damage(file.read_bytes(), self._rng))
            where = str(file.relative_to(folder))
            for words in self._readers(where):
                ended = run(list(words), folder)
                tally.tried(self.name)
                fault = ended.fault(limit_s=READING_S * 3)
                if fault is None and words[0] == "resume" and ended.code == 0:
                    told = json.loads(ended.output)["best_us"]
                    if told != self.best_us:
                        fault = f"{where}: told {told} us, measured were {self.best_us}"
                if fault:
                    tally.violated(self.name, f"{where}: {fault}")

    def _counts(self, file: Path) -> bool:
        return file.is_file() and file.name not in ("run.lock", "report.html", "tree.svg")

    def _readers(self, where: str) -> list[tuple[str, ...]]:
        if where.startswith("memory"):
            return [READERS[5]]
        if where.startswith("t4"):
            return [READERS[6]]
        of_task = [READERS[7]] if where.startswith("run/task") else []
        return [*self._rng.sample(READERS[:5], 2), *of_task]
