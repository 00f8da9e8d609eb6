"""A study of searches with a model as a TOML file: arms, tasks, seeds and trials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from experiments.benchmarks.measurements.asking import ASKED, Asked, asked_fields
from experiments.benchmarks.measurements.places import place_of
from experiments.runs.tasks.files import bundled
from experiments.text.words import did_you_mean
from mcts.domain import Noun, first_problem, tagged_hash
from mcts.errors import InputError
from mcts.options import Algorithm, ModelOptions
from mcts.options.policy import Policy, read_policy

MODEL_SEARCHES = "model"
"""The `kind` of a study of this sort."""


class ModelArm(Noun):
    """One way to search. `settings` are constants of the search, `model` options of the model that
    differ from the study's.

    first: only so many replies are asked for, then the scripted proposer goes on; None asks always.
    alone: each reply is asked of its parent alone, told nothing of other trials.
    """

    search: str = "puct"
    settings: dict[str, int | float] = {}
    parallel: int = Field(default=1, ge=1, le=64)
    first: int | None = Field(default=None, ge=0)
    alone: bool = False
    model: Asked = ModelOptions()

    @model_validator(mode="before")
    @classmethod
    def _options_beside_keys(cls, table: Any) -> Any:
        """In a file the model's options stand beside the arm's own keys."""
        if not isinstance(table, dict):
            return table
        own = {name: value for name, value in table.items() if name in cls.model_fields}
        options = {name: value for name, value in table.items() if name not in own}
        for name in options:
            if name not in ASKED:
                known = (*cls.model_fields, *ASKED)
                hint = did_you_mean(str(name), known, behind=" ")
                raise ValueError(f"there is no key {name}; {hint}an arm has {', '.join(known)}")
        return {**own, "model": {**options, **own["model"]} if "model" in own else options}

    @property
    def algorithm(self) -> Algorithm:
        """The search with its constants."""
        return Algorithm(name=self.search, constants=self.settings)


class ModelStudy(Noun):
    """What is compared.

    tasks: bundled names, task folders, KernelBench problem files. seeds: how many, from 0; each is
    run with every arm and names a pair. trials: of each run, failures included. at: numbers of
    trials at which speedups are compared besides. finalists: how many of the best are measured once
    more at a run's end. over_compile: winners of PyTorch tasks are also measured over
    torch.compile. policy: as ``--policy`` has it. model, reference, evaluator, cost_usd,
    gpu_minutes, alpha, noise, matters: as in a one-step study.
    """

    kind: Literal["model"]
    name: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
    question: str = ""
    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: int = Field(default=1, ge=1, le=1000)
    trials: int = Field(ge=1, le=10_000)
    at: tuple[int, ...] = ()
    finalists: int = Field(default=3, ge=0)
    over_compile: bool = False
    policy: Annotated[Policy, BeforeValidator(read_policy)] = Policy()
    model: Asked = ModelOptions()
    arms: dict[str, ModelArm] = Field(min_length=1)
    reference: str
    evaluator: str = "auto"
    cost_usd: float | None = Field(default=None, gt=0)
    gpu_minutes: float | None = Field(default=None, gt=0)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    noise: float = Field(default=0.01, ge=0, lt=0.5)
    matters: float = Field(default=1.05, gt=1)

    @field_validator("at")
    @classmethod
    def _at_is_positive(cls, at: tuple[int, ...]) -> tuple[int, ...]:
        if any(number < 1 for number in at):
            raise ValueError("trials are counted from 1")
        return tuple(sorted(set(at)))

    @model_validator(mode="after")
    def _reference_is_an_arm(self) -> ModelStudy:
        if self.reference not in self.arms:
            raise ValueError(f"reference {self.reference!r} is none of the arms")
        return self

    def options_of(self, arm: str) -> ModelOptions:
        """All that the arm says of the model."""
        return self.model.changed_by(self.arms[arm].model)

    def arm_id(self, arm: str) -> str:
        """Equal for arms that do the same, whatever they are called."""
        own = self.arms[arm].model_dump(mode="json", exclude={"model"})
        return tagged_hash("arm", {**own, "model": asked_fields(self.options_of(arm))})


def read_model_study(table: dict[str, Any], path: Path) -> ModelStudy:
    """The study that a TOML file holds. InputError names the field that is wrong.

    Paths of tasks are taken from the file's folder if they exist there.
    """
    table.setdefault("name", path.stem)
    try:
        study = ModelStudy.model_validate(table)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, ModelStudy)}") from None
    tasks = tuple(_place(given, path.parent) for given in study.tasks)
    return study.model_copy(update={"tasks": tasks})


def _place(given: str, folder: Path) -> str:
    if given in bundled():
        return given
    return str(place_of(given, folder))
