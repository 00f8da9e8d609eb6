"""Bytes changed in files that the product reads: it says so in a line, or shows what was true."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.faults.commands import READING_S, RECORDING, SEARCHING_S, Ended, run
from tests.faults.mutations import damage
from tests.faults.tally import Tally
from tests.support.openai_server import AutoModel, OpenAiServer
from tests.support.suite_world import make_level, problem_text

ROOT = Path(__file__).resolve().parents[2]
SEARCH = "optimize row_softmax --evaluations 20 --seed 3 --quiet --json"
PAID = "optimize row_softmax --evaluations 6 --seed 3 --quiet --json --model openai/auto"
STUDY = """
name = "small"
question = "Which is better?"
tasks = ["row_softmax"]
seeds = 2
budget = 8
reference = "tree"
[arms.tree]
[arms.hill]
search = "greedy"
"""
READERS = {
    "run/": (
        "explain run", "resume run --json --quiet", "report run --json", "tree run", "watch run",
        "export run out", "compare run other --json", "recover run mended",
    ),
    "run/task/": ("optimize run/task --evaluations 3 --quiet",),
    "paid/": ("explain paid", "resume paid --json --quiet", "report paid --json"),
    "memory.sqlite": (
        "memory show --memory memory.sqlite", "memory tools --memory memory.sqlite",
        f"{SEARCH} --memory memory.sqlite --out new",
    ),
    "learned.jsonl": ("memory import learned.jsonl --memory new.sqlite",),
    "t4.json": ("optimize t4.json --evaluations 5 --quiet", "tasks t4.json"),
    "t4.json.gz": ("optimize t4.json.gz --evaluations 5 --quiet",),
    "tape.jsonl": (f"{PAID} --llm-replay tape.jsonl --out new",),
    "cache.sqlite": (f"{PAID} --llm-cache cache.sqlite --api-base http://127.0.0.1:9 --out new",),
    "study.toml": ("study study.toml --out study --jobs 1",),
    "study/": ("compare study --json", "study study.toml --out study --jobs 1"),
    "suite/": ("kernelbench report suite --json",),
    "report.csv": ("inspect report.csv",),
    "report.sqlite": ("inspect report.sqlite",),
}  # fmt: skip
"""Commands by the beginning of the file's name."""
SEALED = ("run/run.sqlite", "paid/run.sqlite", "study/", "suite/outcomes/")
"""Files of measurements with a checksum: a changed one is never told as what was measured."""


class Flips:
    """Of what runs, studies, suites and services have left, one file at a time."""

    name = "damaged files"

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._folder = tempfile.TemporaryDirectory(prefix="rooftree-faults-")
        self._figures: dict[str, list[float]] = {}

    @cached_property
    def _made(self) -> Path:
        folder = Path(self._folder.name)
        data = ROOT / "tests" / "data"
        shutil.copyfile(RECORDING, folder / "t4.json.gz")
        t4 = [{"configuration": {"BLOCK": block}, "times": {"runtimes": [1.0 + 64 / block]},
               "invalidity": "correct"} for block in (32, 64, 128, 256, 512)]  # fmt: skip
        document = {"metadata": {}, "schema_version": "1.0.0", "results": t4}
        (folder / "t4.json").write_text(json.dumps(document))
        shutil.copyfile(data / "ncu" / "three_kernels.csv", folder / "report.csv")
        shutil.copyfile(data / "nsys" / "three_kernels.sqlite", folder / "report.sqlite")
        (folder / "study.toml").write_text(STUDY)
        make_level(folder / "checkout", {"1_One.py": problem_text("2.0", "3.0")})
        for words in (
            f"{SEARCH} --out run --memory memory.sqlite", f"{SEARCH} --out other",
            "memory export learned.jsonl --memory memory.sqlite",
            "study study.toml --out study --jobs 1",
            "kernelbench run --root checkout --level 1 -o suite --budget 2 --evaluator paper "
            "--proposer canned",
        ):  # fmt: skip
            self._sound(words, folder)
        with OpenAiServer([AutoModel()]) as server:
            kept = "--llm-record tape.jsonl --llm-cache cache.sqlite"
            price = "--price openai/auto=1,1"
            self._sound(f"{PAID} --api-base {server.url} {price} {kept} --out paid", folder)
        return folder

    def _true(self, words: str) -> list[float]:
        """What a command that prints JSON says of files that nobody has damaged."""
        if words not in self._figures:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name) / "there"
                shutil.copytree(self._made, folder)
                self._figures[words] = _figures(self._sound(words, folder))
        return self._figures[words]

    def _sound(self, words: str, folder: Path) -> Ended:
        ended = run(words.split(), folder, paper=True)
        assert ended.code == 0, (words, ended.errors, ended.output)
        return ended

    def strike(self, tally: Tally) -> None:
        """One file is damaged, and commands that read it are run."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "there"
            shutil.copytree(self._made, folder)
            start = self._rng.choice(sorted(READERS))
            files = [file for file in sorted(folder.rglob("*")) if _is_read(file, folder, start)]
            file = self._rng.choice(files)
            file.write_bytes(damage(file.read_bytes(), self._rng))
            where = str(file.relative_to(folder))
            tally.tried(self.name)
            for words in self._some(READERS[start]):
                ended = run(words.split(), folder, paper=True)
                tally.tried("commands on damaged files")
                waits = words.startswith("worker")  # for as long as a lease holds
                fault = ended.fault(limit_s=SEARCHING_S if waits else READING_S * 3)
                if fault is None and ended.code == 0 and where.startswith(SEALED):
                    fault = self._lie(words, ended)
                if fault:
                    tally.violated(self.name, f"{where}: {fault}")

    def _some(self, commands: Sequence[str]) -> list[str]:
        return self._rng.sample(commands, min(2, len(commands)))

    def _lie(self, words: str, ended: Ended) -> str | None:
        """Figures that differ from what was measured, told without a word on the damage."""
        if "--json" not in words or ended.errors.strip() or "runs are missing" in ended.output:
            return None
        told, true = _figures(ended), self._true(words)
        return None if told == true else f"{words}: told {told}, true is {true}"


def _figures(ended: Ended) -> list[float]:
    """All times and speedups of a JSON answer, in its order."""
    found: list[float] = []

    def collect(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                collect(value[key], key)
        elif isinstance(value, list):
            for one in value:
                collect(one, name)
        elif isinstance(value, float) and name.endswith(("_us", "speedup", "low", "high")):
            found.append(value)

    collect(json.loads(ended.output), "")
    return found


def _is_read(file: Path, folder: Path, start: str) -> bool:
    """Whether the file is one of those named by `start`, and more than a lock or a product."""
    name = str(file.relative_to(folder))
    longer = [each for each in READERS if each.startswith(start) and each != start]
    return (
        file.is_file()
        and (name.startswith(start) if start.endswith("/") else name == start)
        and not any(name.startswith(each) for each in longer)
        and file.suffix not in (".lock", ".html", ".svg", ".png")
    )
