"""A one-step study as a TOML file: which parents, which arms of a model, how many replies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from experiments.benchmarks.measurements.asking import Asked, asked_fields
from experiments.benchmarks.measurements.places import place_of
from mcts.domain import Noun, first_problem, tagged_hash
from mcts.errors import InputError
from mcts.options import ModelOptions

ONE_STEP = "one_step"
"""The `kind` of a study of this sort."""


class OneStepStudy(Noun):
    """What is compared.

    parents: run folders, of which every measured variant but the baseline is a parent, or single
    nodes as ``RUN:NODE``. replies: how many each arm gives from each parent. model: options of all
    arms; an arm changes some. reference: the arm that all others are compared with. evaluator: who
    measures, as ``--evaluator`` has it. cost_usd, gpu_minutes: caps on all together; beyond them
    nothing new is asked or measured. mixed_gpus: go on on another kind of GPU than the study's
    first, where gains are of parents and children that were timed on different ones. alpha, noise,
    matters: as in any study.
    """

    kind: Literal["one_step"]
    name: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
    question: str = ""
    parents: tuple[str, ...] = Field(min_length=1)
    replies: int = Field(default=1, ge=1, le=1000)
    model: Asked = ModelOptions()
    arms: dict[str, Asked] = Field(min_length=2)
    reference: str
    evaluator: str = "auto"
    cost_usd: float | None = Field(default=None, gt=0)
    gpu_minutes: float | None = Field(default=None, gt=0)
    mixed_gpus: bool = False
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    noise: float = Field(default=0.01, ge=0, lt=0.5)
    matters: float = Field(default=1.05, gt=1)

    @field_validator("arms")
    @classmethod
    def _arms_differ(cls, arms: dict[str, ModelOptions]) -> dict[str, ModelOptions]:
        given: dict[str, str] = {}
        for name, arm in arms.items():
            same = given.setdefault(arm.model_dump_json(), name)
            if same != name:
                raise ValueError(f"the arms {same} and {name} are the same")
        return arms

    @model_validator(mode="after")
    def _reference_is_an_arm(self) -> OneStepStudy:
        if self.reference not in self.arms:
            raise ValueError(f"reference {self.reference!r} is none of the arms")
        return self

    @property
    def others(self) -> tuple[str, ...]:
        """The arms that the reference is compared with."""
        return tuple(name for name in self.arms if name != self.reference)

    def options_of(self, arm: str) -> ModelOptions:
        """All that the arm says of the model."""
        return self.model.changed_by(self.arms[arm])

    def arm_id(self, arm: str) -> str:
        """Equal for arms that ask alike, whatever they are called."""
        return tagged_hash("arm", asked_fields(self.options_of(arm)))


def read_one_step(table: dict[str, Any], path: Path) -> OneStepStudy:
    """The study that a TOML file holds. InputError names the field that is wrong.

    Paths of parents are taken from the file's folder if they exist there.
    """
    table.setdefault("name", path.stem)
    try:
        study = OneStepStudy.model_validate(table)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, OneStepStudy)}") from None
    return study.model_copy(
        update={"parents": tuple(_place(given, path.parent) for given in study.parents)}
    )


def run_and_node(given: str) -> tuple[str, int | None]:
    """``RUN:NODE`` as the folder and the node; the folder alone stands for all its nodes."""
    found = re.fullmatch(r"(.+):([0-9]{1,9})", given)
    return (found[1], int(found[2])) if found else (given, None)


def _place(given: str, folder: Path) -> str:
    run, node = run_and_node(given)
    path = place_of(run, folder)
    return str(path) if node is None else f"{path}:{node}"
