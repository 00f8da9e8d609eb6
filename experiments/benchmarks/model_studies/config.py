"""A study of searches with a model as a TOML file: arms, tasks, seeds and trials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from experiments.benchmarks.measurements.asking import ASKED, Asked, asked_fields
from experiments.benchmarks.measurements.places import place_of
from experiments.runs.memory.knowledge import COLD
from experiments.runs.options.config import file_sha256
from experiments.runs.tasks.files import bundled
from experiments.runs.wiring.choosing import LLM
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

    proposer: `llm`, or one that asks no model. trials: of each run, where they are not the study's.
    first: only so many replies are asked for, then the scripted proposer goes on; None asks always.
    alone: each reply is asked of its parent alone, told nothing of other trials.
    names: whether tunables have their names, help and methods (`unnamed`).
    memory: what is known before the run begins: nothing (`cold`), or what a memory or an export
    holds of other tasks than the one at hand; no run adds to it.
    stop_within: ends a run early, as ``--stop-within`` does.
    """

    search: str = "puct"
    settings: dict[str, int | float] = {}
    proposer: str = LLM
    trials: int | None = Field(default=None, ge=1, le=10_000)
    parallel: int = Field(default=1, ge=1, le=64)
    first: int | None = Field(default=None, ge=0)
    alone: bool = False
    names: bool = True
    memory: str = COLD
    memory_sha256: str = ""
    stop_within: float | None = Field(default=None, ge=0, le=10)
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
                known = (*_ARM_KEYS, *ASKED)
                hint = did_you_mean(str(name), known, behind=" ")
                raise ValueError(f"there is no key {name}; {hint}an arm has {', '.join(known)}")
        return {**own, "model": {**options, **own["model"]} if "model" in own else options}

    @model_validator(mode="after")
    def _only_a_model_is_asked(self) -> ModelArm:
        if self.proposer != LLM:
            for name in ("first", "alone", "model"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"{name}: proposer {self.proposer} asks no model")
        return self

    @property
    def algorithm(self) -> Algorithm:
        """The search with its constants."""
        return Algorithm(name=self.search, constants=self.settings)


_ARM_KEYS = tuple(name for name in ModelArm.model_fields if name not in ("memory_sha256", "model"))
"""What a file may say of an arm besides the model's options; hashes are found, not given."""


class ModelStudy(Noun):
    """What is compared.

    tasks: bundled names, task folders, KernelBench problem files. seeds: how many, from
    `first_seed`; each is run with every arm and names a pair. trials: of each run, failures
    included. at: numbers of trials at which speedups are compared besides; an arm with fewer trials
    is not. near: on recordings, evaluations until a variant's recorded time is within this share of
    the best one's are compared, too. finalists: how many of the best are measured once more at a
    run's end. over_compile: winners of PyTorch tasks are also measured over torch.compile.
    policy: as ``--policy`` has it. model, reference, evaluator, cost_usd, gpu_minutes,
    mixed_gpus, alpha, noise, matters: as in a one-step study.
    """

    kind: Literal["model"]
    name: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
    question: str = ""
    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: int = Field(default=1, ge=1, le=1000)
    first_seed: int = Field(default=0, ge=0, le=1_000_000)
    trials: int = Field(ge=1, le=10_000)
    at: tuple[int, ...] = ()
    near: float | None = Field(default=None, ge=0, lt=1)
    finalists: int = Field(default=3, ge=0)
    over_compile: bool = False
    policy: Annotated[Policy, BeforeValidator(read_policy)] = Policy()
    model: Asked = ModelOptions()
    arms: dict[str, ModelArm] = Field(min_length=1)
    reference: str
    evaluator: str = "auto"
    cost_usd: float | None = Field(default=None, gt=0)
    gpu_minutes: float | None = Field(default=None, gt=0)
    mixed_gpus: bool = False
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

    @property
    def each_seed(self) -> range:
        """The seeds."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def trials_of(self, arm: str) -> int:
        """How many trials each run of the arm has."""
        return self.arms[arm].trials or self.trials

    def options_of(self, arm: str) -> ModelOptions:
        """All that the arm says of the model; nothing if it asks none."""
        if self.arms[arm].proposer != LLM:
            return ModelOptions()
        return self.model.changed_by(self.arms[arm].model)

    def arm_id(self, arm: str) -> str:
        """Equal for arms that do the same, whatever they are called."""
        own = self.arms[arm].model_dump(
            mode="json", exclude={"model", "memory"}, exclude_defaults=True
        )
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
    arms = {name: _remembering(arm, path.parent) for name, arm in study.arms.items()}
    return study.model_copy(update={"tasks": tasks, "arms": arms})


def _remembering(arm: ModelArm, folder: Path) -> ModelArm:
    """The arm with its memory's path from the study's folder, and what the file holds now."""
    if arm.memory == COLD:
        return arm
    path = place_of(arm.memory, folder)
    return arm.model_copy(update={"memory": str(path), "memory_sha256": file_sha256(path)})


def _place(given: str, folder: Path) -> str:
    if given in bundled():
        return given
    return str(place_of(given, folder))
