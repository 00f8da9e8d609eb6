"""A study as a TOML file: which arms, on which tasks, with which seeds and budget."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, FiniteFloat, ValidationError, field_validator, model_validator

from experiments.benchmarks.expansions.file import find_expansions
from experiments.benchmarks.studies.config_errors import describe_errors
from experiments.runs.memory.knowledge import COLD
from experiments.runs.options.config import file_sha256
from experiments.runs.tasks.files import bundled
from experiments.text.words import did_you_mean
from mcts.domain import Noun, tagged_hash
from mcts.errors import InputError
from mcts.formats import FormatError, parse_toml

BUNDLED, ALL = "bundled", "all"
StudyKind = Literal["search", "expansions"]
"""What an arm is run on. search: recorded spaces of tunables, with a proposer. expansions: recorded
trees of code variants, where a search draws from the replies that are there."""
SEARCH: StudyKind = "search"
EXPANSIONS: StudyKind = "expansions"
GuidanceMode = Literal["tools", "roofline", "counters", "none"]
"""What a proposer is told of a parent's performance. tools: all that the advisor says. roofline:
that without the tools' findings. counters: the bare profile. none: nothing."""

_FOLDER = Path(__file__).parent
_SUFFIX = ".toml"


class Arm(Noun):
    """One way to search. `settings` are constants of the search, `lessons` whether the proposer is
    told what methods came to earlier in the same run, `history` whether it is told what came of
    each candidate, `implementations` whether its first moves go to each of the kernel's
    implementations (`ScriptedProposer`). `memory` is what it knows of other runs: nothing
    (`cold`), or what a memory or an export holds of other tasks than the one at hand.
    `stop_within` ends a run early, as ``--stop-within`` does.
    """

    search: str = "puct"
    proposer: str = "scripted"
    settings: dict[str, int | FiniteFloat] = {}
    guidance: GuidanceMode = "tools"
    lessons: bool = True
    history: bool = True
    implementations: bool = True
    memory: str = COLD
    memory_sha256: str = ""
    parallel: int = Field(default=1, ge=1, le=64)
    stop_within: float | None = Field(default=None, ge=0, le=10)


_ARM_KEYS = tuple(name for name in Arm.model_fields if name != "memory_sha256")
"""What a file may say of an arm; the hash of its memory is found, not given."""
_OF_A_POLICY = frozenset({"search", "settings", "parallel", "stop_within"})
"""What an arm on recorded expansions may say: what is proposed there is recorded, too."""


class Study(Noun):
    """What is compared, and how it is measured.

    tasks: names, task folders or T4 files; `bundled` stands for all bundled tasks with a recording.
    In a study of expansions, names of tasks in that file; `all` stands for each of them.
    expansions: the file of recorded expansions, or the name of a bundled one.
    seeds: how many, from `first_seed`; each is run with every arm and names a pair.
    budget: unique evaluations after which runs are compared, failures included; they go on to the
    last of `at`. `random` takes for each task what
    random search needs (see `RecordedSpace.random_budget`), at most `most`. On expansions, it and
    `at` are numbers of trials.
    at: numbers of unique evaluations at which speedups are compared; the budget comes besides.
    reference: the arm that all others are compared with.
    alpha: the family-wise error rate. noise: speedups whose ratio is within it are ties.
    matters: the smallest ratio of speedups worth finding; a study that could miss it says so.
    matters_evaluations: the same for numbers of evaluations.
    """

    name: str
    kind: StudyKind = SEARCH
    question: str = ""
    expansions: str | None = None
    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: int = Field(ge=1, le=10_000)
    first_seed: int = Field(default=0, ge=0, le=1_000_000)
    budget: int | Literal["random"] = "random"
    most: int = Field(default=200, ge=1, le=100_000)
    at: tuple[int, ...] = (20, 40)
    reference: str
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    noise: float = Field(default=0.01, ge=0, lt=0.5)
    matters: FiniteFloat = Field(default=1.05, gt=1)
    matters_evaluations: FiniteFloat = Field(default=1.25, gt=1)
    arms: dict[str, Arm] = Field(min_length=2)

    @field_validator("name")
    @classmethod
    def _name_is_one_of_a_folder(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", name):
            raise ValueError("letters, digits, _, - and ., which does not come first")
        return name

    @field_validator("budget")
    @classmethod
    def _budget_is_positive(cls, budget: int | str) -> int | str:
        if isinstance(budget, int) and budget < 1:
            raise ValueError("a run needs at least one evaluation")
        return budget

    @field_validator("at")
    @classmethod
    def _at_is_positive(cls, at: tuple[int, ...]) -> tuple[int, ...]:
        if any(number < 1 for number in at):
            raise ValueError("evaluations are counted from 1")
        return tuple(sorted(set(at)))

    @model_validator(mode="after")
    def _reference_is_an_arm(self) -> Study:
        if self.reference not in self.arms:
            raise ValueError(f"reference {self.reference!r} is none of the arms")
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Study:
        if self.kind != EXPANSIONS:
            if self.expansions is not None:
                raise ValueError('expansions are for kind = "expansions"')
            return self
        if self.expansions is None:
            raise ValueError("expansions: it is missing")
        if self.budget == "random":
            raise ValueError("budget: it is missing (how many trials a run has)")
        for name, arm in self.arms.items():
            given = {key for key, value in arm if value != Arm.model_fields[key].default}
            if unfit := sorted(given - _OF_A_POLICY):
                raise ValueError(f"arm {name}: {unfit[0]} decides nothing on recorded replies")
        return self

    @property
    def each_seed(self) -> range:
        """The seeds."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def others(self) -> tuple[str, ...]:
        """The arms that the reference is compared with."""
        return tuple(name for name in self.arms if name != self.reference)


def bundled_studies() -> dict[str, Path]:
    """Their configurations, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob(f"*{_SUFFIX}"))}


def find_study(given: str) -> Path:
    """The file `given`, else the bundled study of that name, with or without its `.toml`.

    Raises InputError, with the names there are, if it is neither.
    """
    path, known = Path(given), bundled_studies()
    name = given.removesuffix(_SUFFIX)
    if path.is_file() or (path.exists() and name not in known):
        return path
    if name in known:
        return known[name]
    hint = did_you_mean(Path(name).name, known, behind=" ")
    raise InputError(f"{given} does not exist; {hint}bundled studies: {', '.join(known)}")


def read_table(path: Path) -> dict[str, Any]:
    """What a study's file holds. InputError if it cannot be read."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (FormatError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def read_study(path: Path) -> Study:
    """Read a study of searches. InputError names the field that is wrong.

    Paths of tasks are taken from the configuration's folder if they exist there.
    """
    return study_of(read_table(path), path)


def study_of(table: dict[str, Any], path: Path) -> Study:
    """The study that a table describes, as if it stood in the file `path`."""
    table.setdefault("name", path.stem)
    if table.get("kind") == EXPANSIONS:
        table.setdefault("tasks", [ALL])
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        wrong = describe_errors(error, table, keys=Study.model_fields, arm_keys=_ARM_KEYS)
        raise InputError(f"{path}: {wrong}") from None
    _check_most(study, path)
    if study.expansions is not None:
        file = find_expansions(study.expansions, path.parent).resolve()
        return study.model_copy(update={"expansions": str(file)})
    arms = {name: _remembering(arm, path.parent) for name, arm in study.arms.items()}
    return study.model_copy(update={"tasks": _given_tasks(study.tasks, path.parent), "arms": arms})


def _check_most(study: Study, path: Path) -> None:
    """InputError for a number of evaluations at which all runs have ended."""
    if study.kind == EXPANSIONS:
        return
    numbers = [("budget", study.budget), *(("at", number) for number in study.at)]
    for key, number in numbers:
        if isinstance(number, int) and number > study.most:
            raise InputError(
                f"{path}: {key}: {number} is beyond most, {study.most}: raise that too"
            )


def _remembering(arm: Arm, folder: Path) -> Arm:
    """The arm with its memory's path from the study's folder, and what the file holds now."""
    if arm.memory == COLD:
        return arm
    path = (folder / arm.memory).resolve()
    return arm.model_copy(update={"memory": str(path), "memory_sha256": file_sha256(path)})


def _given_tasks(tasks: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for task in tasks:
        if task == BUNDLED:
            found.update(dict.fromkeys(_recorded()))
        elif task not in bundled() and os.path.exists(folder / task):  # noqa: PTH110  no name is too long for it
            found[str((folder / task).resolve())] = None
        else:
            found[task] = None
    return tuple(found)


def _recorded() -> list[str]:
    """The bundled tasks that have a recording."""
    return [name for name, folder in bundled().items() if any((folder / "recordings").glob("*"))]


def arm_id(arm: Arm) -> str:
    """Equal for arms that do the same, whatever they are called."""
    return tagged_hash("arm", arm.model_dump(mode="json", exclude={"memory"}, exclude_none=True))
