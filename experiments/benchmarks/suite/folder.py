"""The folder of a suite: what was asked, a run folder and an outcome for each problem, kernels.

::

    suite.json             the settings, and which problems were chosen
    runs/level2_40/        a run folder, as `rooftree optimize` makes them
    outcomes/level2_40.json
    kernels/level2_40.py   the best kernel: one file that needs PyTorch alone
    results.csv, results.json
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.outcome import Outcome
from mcts.domain import Noun, first_problem, sealed, unsealed
from mcts.errors import InputError
from mcts.files import held, write_whole
from mcts.formats import parse_json

SUITE_FILE = "suite.json"
SUITE_FORMAT = 1
_LOCK = "suite.lock"


class Chosen(Noun):
    """A problem of the suite; `file` is the name of its file."""

    level: int
    number: int
    file: str

    @property
    def key(self) -> str:
        return f"level{self.level}_{self.number}"

    @property
    def name(self) -> str:
        return f"{self.level}/{self.file.removesuffix('.py')}"


class Plan(Noun):
    """What a suite was asked: the same `settings` for all problems, by name."""

    format: int = SUITE_FORMAT
    settings: dict[str, Any]
    problems: tuple[Chosen, ...] = ()

    def joined(self, problems: Sequence[ProblemFile]) -> Plan:
        """With further problems; in the order of levels and numbers."""
        found = {(item.level, item.number): item for item in self.problems}
        for problem in problems:
            found.setdefault(
                (problem.level, problem.number),
                Chosen(level=problem.level, number=problem.number, file=problem.path.name),
            )
        return self.model_copy(update={"problems": tuple(found[key] for key in sorted(found))})


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """Where a suite keeps what; `path` may not be there yet."""

    path: Path

    def run(self, key: str) -> Path:
        return self.path / "runs" / key

    def kernel(self, key: str) -> Path:
        return self.path / "kernels" / f"{key}.py"

    def plan(self) -> Plan:
        """What the suite was asked. InputError if the folder is none."""
        path = self.path / SUITE_FILE
        if not path.is_file():
            there = f"has no {SUITE_FILE}" if self.path.is_dir() else "does not exist"
            raise InputError(f"{self.path} is not the folder of a suite: it {there}")
        try:
            return Plan.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise InputError(f"{path} cannot be read: {first_problem(error)}") from None

    def begin(self, settings: dict[str, Any], problems: Sequence[ProblemFile]) -> Plan:
        """Begin a suite in the claimed folder, or go on in it with further problems.

        InputError if it was begun with other settings: their figures do not belong in one table.
        """
        if (self.path / SUITE_FILE).is_file():
            plan = self.plan()
            _check_same(self.path, plan.settings, settings)
        else:
            plan = Plan(settings=settings)
        plan = plan.joined(problems)
        self._write(SUITE_FILE, plan.model_dump_json(indent=2) + "\n")
        return plan

    def outcome(self, key: str) -> Outcome | None:
        """A problem's outcome, where it has one. InputError for one that is damaged or changed."""
        path = self.path / "outcomes" / f"{key}.json"
        try:
            found = parse_json(path.read_bytes())
            content = unsealed(found) if isinstance(found, dict) else found
            return Outcome.model_validate_json(json.dumps(content))
        except FileNotFoundError:
            return None
        except ValueError as error:
            why = first_problem(error) if isinstance(error, ValidationError) else error
            raise InputError(
                f"{path} cannot be read ({why}): delete it to conclude again"
            ) from None

    def outcomes(self, plan: Plan) -> list[Outcome]:
        """The outcomes of the problems that are done, in the plan's order."""
        found = (self.outcome(item.key) for item in plan.problems)
        return [outcome for outcome in found if outcome is not None]

    def keep(self, outcome: Outcome) -> None:
        """Write a problem's outcome, whole or not at all."""
        text = json.dumps(sealed(outcome.model_dump(mode="json")), indent=2, ensure_ascii=False)
        self._write(f"outcomes/{outcome.key}.json", text + "\n")

    def write_kernel(self, key: str, source: str) -> str:
        """Export a kernel; its name within the folder."""
        name = f"kernels/{key}.py"
        self._write(name, source)
        return name

    def write_results(self, *, table: str, document: str) -> None:
        """Write `results.csv` and `results.json`."""
        self._write("results.csv", table)
        self._write("results.json", document)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the folder against other processes, made where there is none.

        InputError if another process has it, or it holds something else.
        """
        self._check_ours()
        self.path.mkdir(parents=True, exist_ok=True)
        message = f"{self.path} is in use by another rooftree process: wait for it"
        with held(self.path / _LOCK, message=message):
            yield

    def _check_ours(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file: give --out a new or empty folder")
        if not self.path.is_dir() or (self.path / SUITE_FILE).is_file():
            return
        begun = (_LOCK, f".{SUITE_FILE}.")  # by a process that was killed before it wrote anything
        if not all(item.name.startswith(begun) for item in self.path.iterdir()):
            raise InputError(f"{self.path} is not empty and no suite: give --out another folder")

    def _write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, durable=True)


def _check_same(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in json.loads(json.dumps(now)).items():
        if name in before and before[name] != value:
            raise InputError(
                f"{path} was begun with {name} = {before[name]!r}, not {value!r}: give the same "
                "options to go on, or another --out"
            )


def go_on_words(path: Path) -> str:
    """What a person does next with an unfinished suite."""
    return f"give the same command again to go on; so far: {report_command(path)}"


def report_command(path: Path) -> str:
    return f"rooftree kernelbench report {shlex.quote(str(path))}"
