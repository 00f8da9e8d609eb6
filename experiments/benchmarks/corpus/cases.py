"""The cases and the truth about them: what each is, and which verdicts on it are right."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, model_validator

from experiments.runs.tasks.files import bundled, load_task, read_text
from experiments.runs.tasks.problems import problem_task
from mcts.domain import (
    CUDA,
    KERNELBENCH,
    Candidate,
    CheatClass,
    Dialect,
    KernelTask,
    Noun,
    Policy,
    Status,
    first_problem,
)
from mcts.errors import InputError
from mcts.formats import FormatError, parse_toml

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "corpus.toml"
PROBLEMS = FOLDER / "kernelbench" / "problems"
OWN_TASKS = FOLDER / "cuda" / "tasks"

DIALECTS: tuple[Dialect, ...] = (CUDA, KERNELBENCH)
Kind = CheatClass | Literal["honest", "fault"]
Verdict = Status | Literal["task_refused"]
"""What can be expected: an evaluation's status, or that the task itself is refused."""

CHEATS: tuple[CheatClass, ...] = get_args(CheatClass)

_SUFFIXES: dict[str, Dialect] = {dialect.suffix: dialect for dialect in DIALECTS}


class CorpusCase(Noun):
    """One candidate, what it is, and which verdicts on it are right.

    `expect` lists them; a refusal is right under the classes in `refused_as`, by default the
    case's own. `or_neutral`: `measured` is right too if nothing was gained. `policy` holds
    what differs from the task's default. `needs` names what must be installed; `slow` ones take a
    compiler minutes. `hostile` ones take part in the cycle of a hostile run.
    """

    file: str
    task: str
    kind: Kind = Field(alias="class")
    expect: tuple[Verdict, ...] = Field(min_length=1)
    refused_as: tuple[CheatClass, ...] = ()
    or_neutral: bool = False
    max_speedup: float | None = Field(default=None, gt=0)
    policy: dict[str, str | bool] = {}
    needs: tuple[str, ...] = ()
    slow: bool = False
    hostile: bool = False
    why: str = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> CorpusCase:
        if Path(self.file).suffix not in _SUFFIXES:
            raise ValueError(f"{self.file}: neither .cu nor .py")
        Policy.model_validate(self.policy)
        if self.kind == "honest" and (self.expect != ("measured",) or self.refused_as):
            raise ValueError(f"{self.file}: an honest candidate is measured, and nothing else")
        if self.is_cheat and "measured" in self.expect:
            raise ValueError(f"{self.file}: a cheat is never simply measured; say or_neutral")
        if self.or_neutral and not self.is_cheat:
            raise ValueError(f"{self.file}: only a cheat can be neutral")
        if self.refused_as and "refused" not in self.expect:
            raise ValueError(f"{self.file}: refused_as without a refusal to expect")
        if self.hostile and self.kind != "fault":
            raise ValueError(f"{self.file}: only faults take part in a hostile run")
        return self

    @property
    def name(self) -> str:
        """Dialect and file without its suffix: unique, and what --only takes."""
        return self.file.rpartition(".")[0]

    @property
    def dialect(self) -> Dialect:
        return _SUFFIXES[Path(self.file).suffix]

    @property
    def is_cheat(self) -> bool:
        return self.kind in CHEATS

    @property
    def may_be_refused_as(self) -> tuple[str, ...]:
        """Classes under which a refusal is right; a fault may be refused as anything."""
        if self.refused_as:
            return self.refused_as
        return (self.kind,) if self.is_cheat else CHEATS

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def candidate(self) -> Candidate:
        return Candidate(source=self.source)


def cases(path: Path = MANIFEST) -> tuple[CorpusCase, ...]:
    """The manifest. InputError if it is not one, or names a file twice."""
    try:
        table: dict[str, Any] = parse_toml(path.read_text(encoding="utf-8"))
        found = tuple(CorpusCase.model_validate(entry) for entry in table["exhibit"])
    except (OSError, FormatError, KeyError) as error:
        raise InputError(f"{path} is no manifest of the corpus: {error}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{path} lists {twice[0]} twice")
    return found


def chosen(
    every: tuple[CorpusCase, ...],
    *,
    dialect: str = "all",
    only: tuple[str, ...] = (),
    kind: str | None = None,
    slow: bool = True,
) -> tuple[CorpusCase, ...]:
    """The cases that are asked for; InputError if a name or class matches none.

    `only` takes names with or without their dialect. A name that is asked for is run, slow or not.
    """
    if dialect not in (*DIALECTS, "all"):
        raise InputError(f"--dialect {dialect!r}: one of {', '.join(DIALECTS)}, all")
    kinds = {one.kind for one in every}
    if kind is not None and kind not in kinds:
        raise InputError(f"no case is of class {kind!r}; there are {', '.join(sorted(kinds))}")
    for name in only:
        if not any(_is_called(one, name) for one in every):
            raise InputError(f"no case is called {name!r}; see {MANIFEST.name}")
    return tuple(
        one
        for one in every
        if dialect in ("all", one.dialect)
        and (not only or any(_is_called(one, name) for name in only))
        and kind in (None, one.kind)
        and (slow or only or not one.slow)
    )


def _is_called(one: CorpusCase, name: str) -> bool:
    return name in (one.name, one.name.partition("/")[2], one.file)


def task_of(case: CorpusCase) -> KernelTask:
    """The task of a case, under its policy. InputError if there is none of that name."""
    if not case.dialect.in_pytorch:
        return cuda_task(case.task)
    path = PROBLEMS / f"{case.task}.py"
    return problem_task(read_text(path), path, Policy.model_validate(case.policy))


def cuda_task(name: str) -> KernelTask:
    """One of the corpus's own task folders, else a bundled one."""
    own = OWN_TASKS / name
    folder = own if own.is_dir() else bundled().get(name)
    if folder is None:
        raise InputError(f"the corpus has no cuda task {name!r}, and none is bundled")
    return load_task(folder)
